"""Statistics documents."""
