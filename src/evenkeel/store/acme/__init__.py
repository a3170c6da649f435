"""Stores certificates requested by DNS names: their progress, and their challenges on load balancers."""
