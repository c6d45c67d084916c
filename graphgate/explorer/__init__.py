"""One self-contained page of an embedded graph: data -> content -> HTML -> file or loopback."""
