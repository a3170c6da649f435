"""Devices that synchronise their configuration themselves: which are allowed, which one is written, config-sync."""
