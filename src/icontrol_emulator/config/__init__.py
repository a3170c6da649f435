"""The configuration of one device: objects, their types, the rules between them."""
