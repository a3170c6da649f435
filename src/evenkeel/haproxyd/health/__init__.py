"""The health of servers and of HAProxys: observation, ICMP checks, events and metrics."""
