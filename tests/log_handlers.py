"""The handlers that a command run in the test's own process leaves at the root logger."""

import logging


def remove() -> None:
    """Remove those that write to a stream; pytest's own, of classes derived from it, stay."""
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if type(handler) is logging.StreamHandler]:
        root.removeHandler(handler)
