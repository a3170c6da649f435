"""The runtime API of a running HAProxy: what it is told, what it says, and where it deviates."""
