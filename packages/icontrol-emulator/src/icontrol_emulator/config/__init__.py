"""The configuration of one device: objects, their types, and the rules between them."""
