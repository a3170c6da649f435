"""Server-sent events: the events of the operators' API as they happen, for any number of listeners by one read."""
