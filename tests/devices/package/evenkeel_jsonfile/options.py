"""The driver's options, declared once, and the checked values made from them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oslo_config import cfg

from evenkeel.config.values import checked_values
from evenkeel.core.kit.values import Value

OPTIONS = [
    cfg.StrOpt("directory", help="Where the files are."),
    cfg.StrOpt("prefix", help="First part of the files' names; else the environment."),
    cfg.FloatOpt(
        "lock_timeout", default=10.0, min=0.1, max=60.0, help="Seconds to wait for an agent that is writing a file."
    ),
    cfg.StrOpt("seal_password", default="", secret=True, help="Written into every file, for whoever reads it."),
    cfg.StrOpt("seal_password_file", help="File whose first line is the password; wins over seal_password."),
]


class JsonFileOptions(Value):
    """Settings of one device group, from :data:`OPTIONS`. Times in seconds."""

    directory: Path
    prefix: str
    lock_timeout_seconds: float
    seal: str


def parse_options(options: Mapping[str, Any], *, environment: str) -> JsonFileOptions:
    """The checked options. Raises :class:`ValueError` naming option, value and what is allowed."""
    values = checked_values(OPTIONS, options)
    if not values["directory"]:
        raise ValueError("directory: not set; it is where the files are")
    return JsonFileOptions(
        directory=Path(values["directory"]),
        prefix=values["prefix"] or environment,
        lock_timeout_seconds=values["lock_timeout"],
        seal=values["seal_password"],
    )
