"""Computes statuses, statistics and capacity from daemons' observations, and waits for their events."""
