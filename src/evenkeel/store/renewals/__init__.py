"""What references to key managers name, read again: which are due, and what has come of it."""
