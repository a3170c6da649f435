"""Moves of load balancers in SQL."""
