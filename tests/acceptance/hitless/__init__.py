"""Requests through a real HAProxy, every one counted, while everything around it is changed, killed and restarted.

The test runs a short form, ``benchmarks/hitless.py`` the long one.
"""
