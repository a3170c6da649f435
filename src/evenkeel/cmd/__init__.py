"""One file per process: the only place that wires rooms together."""
