"""One file per process: the only package that wires the others together."""
