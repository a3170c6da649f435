"""Statuses, statistics and capacity from what daemons report."""
