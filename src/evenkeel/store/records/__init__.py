"""Tables, and the mapping of their rows to values: nothing here writes."""
