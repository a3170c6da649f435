"""Computes statuses, statistics and capacity from what daemons report."""
