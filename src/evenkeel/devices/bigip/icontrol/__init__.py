"""iControl REST: requests to one device, the meaning of its responses, and transactions."""
