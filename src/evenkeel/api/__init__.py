"""The HTTP API: Octavia v2 for tenants, and the operators' API.

Depends on ports only. :func:`evenkeel.api.app.create_app` builds the application.
"""
