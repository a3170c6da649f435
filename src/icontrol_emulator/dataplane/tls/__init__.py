"""TLS of the data plane: what profiles ask for, contexts made of it, and streams that speak it."""
