"""Stores load balancers and their children, as tenants create, read, change and delete them."""
