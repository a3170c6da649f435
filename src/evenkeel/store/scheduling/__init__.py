"""Reads and writes of the scheduler and the sweeper."""
