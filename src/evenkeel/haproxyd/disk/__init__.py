"""Persistent state of the daemon, written so that it survives a power failure."""
