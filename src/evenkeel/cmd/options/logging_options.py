"""Options of logs, and of the health file."""

from oslo_config import cfg

LOGGING_OPTIONS = [
    cfg.StrOpt(
        "health_file",
        default="",
        help="File written every few seconds while all event loops run, for a container's health check. Empty: none.",
    ),
    cfg.BoolOpt("debug", default=False, help="Log at debug level. SIGHUP reads it again."),
    cfg.StrOpt(
        "log_format",
        default="auto",
        choices=["auto", "logfmt", "json", "console"],
        help="Format of logs on standard error: logfmt (key=value), json (an object a line), console (in colours); "
        "auto: console on a terminal, else logfmt.",
    ),
]


LOG_OPTIONS = ("debug",)
"""Options that take effect in a running process."""
