"""Service definitions to HAProxy's configuration. Pure."""
