"""Options of logs, and of the health file."""

from oslo_config import cfg

LOGGING = [
    cfg.StrOpt(
        "health_file",
        default="",
        help="Written every few seconds while all event loops run, so that a container's health check sees its age. "
        "Empty: no file.",
    ),
    cfg.BoolOpt("debug", default=False, help="Log at debug level. SIGHUP reads it again."),
    cfg.StrOpt(
        "log_format",
        default="auto",
        choices=["auto", "logfmt", "json", "console"],
        help="Format of logs, on standard error: logfmt (key=value), json (an object in each line), or console (for "
        "people, with colours); auto: console on a terminal, else logfmt.",
    ),
]


LOG_OPTIONS = ("debug",)
"""Options that take effect in a running process."""
