"""Files and other libraries <-> graphs, embeddings, tensors.

The modules in import order:

    places, table, files, network, frames, progress, provenance, schema, columns, csv_file,
    frame, parquet_file, table_writer, networkx, pyg, tensors, node_ids, content, attention,
    embeddings, graph_writer, edge_table, node_table, matrices, network_file, pajek, plain_list,
    reconstruction, joined, graph_files, graph_tables
"""
