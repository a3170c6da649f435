"""The HTTP API: Octavia v2 and Neutron's LBaaS v1 and v2 for tenants, and the operators' API.

It uses databases, devices and other services through ports only. :func:`evenkeel.api.app.create_app` builds
the application.
"""
