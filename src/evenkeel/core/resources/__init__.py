"""Resources of tenants: their attributes, rules, limits and statuses."""
