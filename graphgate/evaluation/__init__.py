"""How good an embedding is: the probe, the settings, and the runs-and-seeds protocol."""
