"""Server-sent events: the events of the operators' API in real time, for any number of listeners by one read."""
