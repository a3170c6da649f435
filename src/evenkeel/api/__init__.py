"""The HTTP API: Octavia v2 for tenants, and the operators' API.

Sees ports only. :func:`evenkeel.api.app.create_app` makes it.
"""
