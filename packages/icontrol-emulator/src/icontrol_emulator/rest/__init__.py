"""iControl REST: maps HTTP requests to the configuration, and results to responses."""
