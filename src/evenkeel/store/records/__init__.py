"""Tables of the database, and the mapping of their rows to values; only shared counts are written here."""
