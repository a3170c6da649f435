"""iControl REST: one device's requests, what its answers mean, and transactions."""
