"""Definitions that a device has to hold, capabilities of device types, and results of their drivers."""
