"""Imported load balancers in SQL."""
