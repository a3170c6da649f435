"""Converts service definitions to the BIG-IP objects that should exist. Pure."""
