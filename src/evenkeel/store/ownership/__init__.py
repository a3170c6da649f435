"""Stores sessions of agents, shards and their epochs."""
