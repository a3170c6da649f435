"""The configuration of a controller that needs no server."""

from pathlib import Path

_TEXT = """
[DEFAULT]
transport_url = embedded://{folder}/bus.db
environments = dev:noop
[database]
connection = sqlite:///{folder}/evenkeel.db
[api]
bind_port = 0
"""


def small_controller(folder: Path) -> Path:
    """Its file, written in the folder."""
    file = folder / "controller.ini"
    file.write_text(_TEXT.format(folder=folder))
    return file
