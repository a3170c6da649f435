"""The health of servers and of HAProxys: what is observed, pinged, and told to agents."""
