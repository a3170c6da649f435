"""Load balancers and their children: created, read, changed and deleted by tenants."""
