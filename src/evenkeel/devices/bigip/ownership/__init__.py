"""Ownership of devices by device groups, and of partitions by agents."""
