"""HAProxy's configuration: rendering, checks, files, and which of its addresses can be bound."""
