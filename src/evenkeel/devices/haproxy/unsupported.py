"""The refusal of what HAProxy cannot do as asked."""


class Unsupported(Exception):
    """A definition that cannot be rendered; the text names object, field and value for the tenant."""
