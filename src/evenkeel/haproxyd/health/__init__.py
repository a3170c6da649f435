"""The health of servers and of HAProxys: observation, the daemon's own checks, events and metrics."""
