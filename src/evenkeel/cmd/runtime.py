"""Common parts of all processes: clock, logs, ids and stop signals."""

import asyncio
import gc
import logging
import re
import signal
import sys
import time
import uuid
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog
from oslo_config import cfg

from evenkeel.cmd.descriptor_exhaustion import plainly
from evenkeel.core.errors import BusUnavailable
from evenkeel.core.ports import Bus

log = structlog.get_logger(__name__)

NEIGHBOUR_RETRY_SECONDS = 1.0
"""Between two tries to connect to a service at start."""

LOG_OPTIONS = ("debug",)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, which could control terminals. The renderer handles line feeds, because exceptions contain
them.
"""


class SystemClock:
    """The real monotonic clock."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary fixed time."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``."""
        await asyncio.sleep(seconds)


def new_id() -> str:
    """A new UUID."""
    return str(uuid.uuid4())


def set_up_logs(*, debug: bool, name: str) -> None:
    """Log one line per event to standard error: key=value pairs, with colours on a terminal."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer()
        if sys.stderr.isatty()
        else structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], bool_as_flag=False)
    )
    structlog.configure(
        wrapper_class=_filtering(debug=debug),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            plainly,
            structlog.processors.format_exc_info,
            escape_controls,
            renderer,
        ],
    )
    structlog.contextvars.bind_contextvars(process=name)


def set_log_level(conf: cfg.ConfigOpts) -> None:
    """The level of ``debug``, from now on."""
    structlog.configure(wrapper_class=_filtering(debug=conf.debug))


def _filtering(*, debug: bool) -> type[structlog.typing.FilteringBoundLogger]:
    return structlog.make_filtering_bound_logger(logging.DEBUG if debug else logging.INFO)


def escape_controls(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters in foreign texts (tenants' values in reasons, devices' errors)."""
    for key, value in event.items():
        if isinstance(value, str) and _CONTROL.search(value):
            event[key] = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
    return event


def tune_collector() -> None:
    """Run the cyclic garbage collector less often, after all modules are loaded: a list of 1,000 load balancers creates
    many thousand objects, none of them cyclic, which the default would scan repeatedly.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def on_stop_signal(stop: Callable[[], None]) -> None:
    """Call ``stop`` in the running loop at SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)


async def start_bus(bus: Bus) -> None:
    """Wait for the message bus."""
    while True:
        try:
            await bus.start()
            return
        except BusUnavailable as error:
            log.warning("message bus unreachable; trying again", error=str(error))
            await asyncio.sleep(NEIGHBOUR_RETRY_SECONDS)
