"""BIG-IPs that are attached to tenants' networks."""
