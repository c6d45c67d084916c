"""Files and other libraries <-> graphs, embeddings, tensors.

Arrow tables of nodes and edges are the only intermediate. The modules in import order:

    replacement, files, provenance, progress, tensors, tables, csv_reader, table_files, columns,
    id_columns, reading_options, graph_tables, networkx, pyg, text_graphs, matrices, graph_files,
    graph_writer, embeddings, model_outputs
"""
