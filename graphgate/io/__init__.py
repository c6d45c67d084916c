"""Files and other libraries <-> graphs, embeddings, tensors.

Arrow tables of nodes and edges are the only intermediate. The modules in import order:

    limits, spreadsheets, replacement, files, provenance, progress, tensors, numpy_files, tables,
    parquet_reader, csv_reader, sqlite_reader, table_files, spellings, cell_parts, columns,
    column_plan, id_columns, reading_options, table_roles, graph_tables, edge_files, additions,
    networkx, node_types, pyg, text_graphs, matrix_market, matrices, graph_files, graph_writer,
    word2vec, vector_databases, embeddings, model_outputs, foreign
"""
