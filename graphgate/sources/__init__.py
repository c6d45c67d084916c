"""The outside world -> `Graph`: every way in which a graph can come from a file or a download."""
