"""Statistics documents of iControl REST."""
