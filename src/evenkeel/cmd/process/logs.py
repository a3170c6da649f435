"""Logs of a process: one line per event, in one format, including the logs of libraries.

Repeated events are folded: a warning or an error with the same event and reason is logged once a minute, with the
number of suppressed lines (``repeated``). Numbers in reasons do not count as a difference. A lost database is a line a
minute from each part that notices it, not hundreds.
"""

import logging
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Final

import structlog
from oslo_config import cfg

from evenkeel.cmd.process.descriptor_exhaustion import shorten_exhaustion_event

FOLD_SECONDS: Final = 60.0


FOLDED_EVENTS_MAX: Final = 1000
"""Maximum number of remembered events; above it the oldest are dropped."""


REASON_FIELDS = ("error", "reason", "address")


LOG_LEVELS = frozenset({"warning", "error", "critical", "exception"})
"""Levels of events that are folded."""


_CONTROL_PATTERN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, which could control terminals. The renderer handles line feeds, because exceptions contain
them.
"""


_NUMBERS_PATTERN = re.compile(r"\d[\d.]*")


LogEvent = MutableMapping[str, Any]


class RepeatedEvents:
    """A structlog processor that drops warnings and errors like one that was logged less than a minute ago.
    One per process; thread-safe.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: OrderedDict[tuple[str, ...], tuple[float, int]] = OrderedDict()

    def __call__(self, logger: Any, method: str, event: LogEvent) -> LogEvent:
        """Return the event; ``repeated`` is added with the number of equal events dropped since the last
        logged one, if there were any. Raises :class:`structlog.DropEvent` for a warning or error equal to
        one logged less than :data:`FOLD_SECONDS` ago.
        """
        if event.get("level", method) not in LOG_LEVELS:
            return event
        key, now = _event_identity(event), self._clock()
        # An event that was never seen counts as logged a minute ago, so it is logged now.
        logged_at, dropped = self._seen.get(key, (now - FOLD_SECONDS, 0))
        if now - logged_at < FOLD_SECONDS:
            self._seen[key] = logged_at, dropped + 1
            raise structlog.DropEvent
        # Removed first, so that it becomes the newest: move_to_end() would fail if another thread dropped it meanwhile.
        self._seen.pop(key, None)
        self._seen[key] = now, 0
        while len(self._seen) > FOLDED_EVENTS_MAX:
            self._seen.popitem(last=False)
        if dropped:
            event["repeated"] = dropped
        return event


def _event_identity(event: Mapping[str, Any]) -> tuple[str, ...]:
    """Return an event's identity for folding: the event and its reasons and exception, or, without any, all fields but
    the time. Texts that differ only in numbers have one identity.
    """
    why = [str(event[name]) for name in REASON_FIELDS if event.get(name)]
    # exc_info is the exception, or True for the one that is being handled.
    if error := event.get("exc_info"):
        error = error if isinstance(error, BaseException) else sys.exc_info()[1]
        why.append(f"{type(error).__name__} {error}")
    if not why:
        why = [f"{name}={value}" for name, value in sorted(event.items()) if name != "timestamp"]
    return (str(event.get("event")), *(_NUMBERS_PATTERN.sub("#", text) for text in why))


def escape_controls(logger: Any, method: str, event: LogEvent) -> LogEvent:
    """Structlog processor: escapes control characters, except line feeds, in the event's texts (tenants'
    values in reasons, devices' errors), and returns the event.
    """
    for key, value in event.items():
        if isinstance(value, str) and _CONTROL_PATTERN.search(value):
            event[key] = _CONTROL_PATTERN.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
    return event


def set_up_logs(conf: cfg.ConfigOpts, *, name: str) -> None:
    """Configure the logs of this process and its libraries: one line per event on standard error. ``name``:
    name of the process, in every line of its own.
    """
    begin: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        shorten_exhaustion_event,
    ]
    end: list[structlog.typing.Processor] = [structlog.processors.format_exc_info, escape_controls]
    renderer = _choose_renderer(conf.log_format)
    structlog.configure(
        wrapper_class=_filtering_logger(debug=conf.debug),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        # Repeated events are dropped before tracebacks are formatted: their identity needs the exception itself.
        processors=[*begin, RepeatedEvents(), *end, renderer],
    )
    structlog.contextvars.bind_contextvars(process=name)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *begin, *end],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    handler.addFilter(_repetition_filter(RepeatedEvents()))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(True)


def set_log_level(conf: cfg.ConfigOpts) -> None:
    """Set the log level of this process from the option ``debug``; libraries keep theirs."""
    structlog.configure(wrapper_class=_filtering_logger(debug=conf.debug))


def _filtering_logger(*, debug: bool) -> type[structlog.typing.FilteringBoundLogger]:
    return structlog.make_filtering_bound_logger(logging.DEBUG if debug else logging.INFO)


def _choose_renderer(log_format: str) -> structlog.typing.Processor:
    if log_format == "auto":
        log_format = "console" if sys.stderr.isatty() else "logfmt"
    if log_format == "console":
        return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    if log_format == "json":
        return structlog.processors.JSONRenderer()
    return structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], bool_as_flag=False)


def _repetition_filter(repeated: RepeatedEvents) -> Callable[[logging.LogRecord], bool]:
    """Return a filter that drops repeated records of libraries, because their formatter cannot drop records."""

    def is_new(record: logging.LogRecord) -> bool:
        event: LogEvent = {"event": record.name, "level": record.levelname.lower(), "reason": record.getMessage()}
        try:
            repeated(None, record.levelname.lower(), event)
        except structlog.DropEvent:
            return False
        if "repeated" in event:
            # The arguments are merged into the text already; formatting again would fail on a percent sign in it.
            record.msg, record.args = f"{record.getMessage()} (repeated={event['repeated']})", ()
        return True

    return is_new
