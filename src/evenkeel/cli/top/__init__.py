"""``evenkeel top``: a live view of the system in a terminal."""
