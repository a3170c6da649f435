"""Recognises, by name, objects in /Common and in tenants' partitions that attach devices to networks."""
