"""Converts service definitions to HAProxy's configuration. Pure."""
