"""Moves of load balancers to another shard: see :mod:`evenkeel.core.control.moves`."""
