"""iControl REST: from HTTP requests to the configuration and back."""
