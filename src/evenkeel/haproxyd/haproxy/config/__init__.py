"""HAProxy's configuration: composed, checked, written, and what of it can be bound."""
