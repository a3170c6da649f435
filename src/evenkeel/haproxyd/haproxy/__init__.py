"""One HAProxy: its configuration, its processes, and its runtime API."""
