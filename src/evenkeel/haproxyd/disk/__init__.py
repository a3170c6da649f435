"""The daemon's persistent state, and how it is written so that it survives a power failure."""
