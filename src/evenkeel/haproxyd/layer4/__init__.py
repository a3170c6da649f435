"""Listeners for datagrams, which the kernel forwards: one nftables table for all tenants of this host."""
