"""Other libraries' graphs <-> `Graph`: NetworkX and PyTorch Geometric."""
