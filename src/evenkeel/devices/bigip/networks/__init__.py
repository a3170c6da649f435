"""Recognises, by name or mark, objects in /Common and in tenants' partitions that attach devices to networks."""
