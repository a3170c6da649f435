"""Reconciling one partition: differences from the wanted objects, and the writes that repair them."""
