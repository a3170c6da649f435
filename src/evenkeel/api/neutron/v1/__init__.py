"""LBaaS v1, the API of OpenStack before Mitaka, in which a pool is the root and has vips, members and health
monitors. See :mod:`evenkeel.core.resources.pool_rooted`.
"""
