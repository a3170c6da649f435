"""TLS of load balancers, and certificates that their references name."""
