"""A real Neutron API for tests: its own virtual environment (kept in the user's cache) and MariaDB, ML2, no agents.

All pytest workers of a run share one: see :mod:`tests.network.neutron_server.sharing`.
"""
