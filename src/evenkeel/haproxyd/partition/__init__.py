"""Partitions (one tenant's load balancers with a HAProxy of their own): owners, contents, and how changes are
applied.
"""
