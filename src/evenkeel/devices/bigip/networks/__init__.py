"""Objects of networks in /Common and in partitions of tenants, by their names."""
