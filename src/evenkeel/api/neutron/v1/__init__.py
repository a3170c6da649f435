"""LBaaS v1, the pool-rooted API of OpenStack before Mitaka. See :mod:`evenkeel.core.resources.pool_rooted`."""
