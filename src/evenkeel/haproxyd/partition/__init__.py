"""Partitions: ownership, what they hold, and how changes are merged and applied."""
