"""Follows the progress of a request until it is done: a line on standard error for every change."""

import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from typing import Any

from evenkeel.cli.client import API_PATH, Client, EndpointsUnreachable, NotFinishedInTime, quote_segment
from evenkeel.cli.columns import Row
from evenkeel.core.kit.words import count_with_noun

POLL_SECONDS = 0.5
DEFAULT_WAIT_SECONDS = 300.0
STUCK_SECONDS = 10.0
"""Seconds after which a command that waits gives up, if there was always a reason why the count does not decrease."""

WAIT_OPTION = "--wait-timeout"
"""Internal name of a waiting command's ``--timeout``, because cliff's global option has the same name."""

PrintLine = Callable[[str], None]


def add_wait_arguments(parser: ArgumentParser) -> None:
    """Add ``--wait`` and its time-out ``--timeout`` to a command's parser."""
    parser.add_argument("--wait", action="store_true", help="Follow the progress until it is done.")
    parser.add_argument(
        "--timeout",
        WAIT_OPTION,
        dest="wait_seconds",
        metavar="SECONDS",
        type=_parse_seconds,
        default=DEFAULT_WAIT_SECONDS,
        help="Maximum time for --wait (default: %(default)g).",
    )


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < 1e9:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


class ProgressAttributes:
    """Names of the agent's attributes that show progress: ``count``, a number that decreases to 0, and ``reason``, why
    it does not decrease now.
    """

    def __init__(self, count: str, reason: str) -> None:
        self.count, self.reason = count, reason

    def line(self, agent: Row) -> str:
        """Format the progress of an agent's handovers as one line."""
        left = count_with_noun(agent[self.count], self.count.replace("_", " ").removesuffix("s"))
        line = f"{agent['host']}: {agent['state']}, {left} left"
        if agent["handing_over"]:
            line += f", {agent['handing_over']} being handed over"
        return line + (f"; waiting: {agent[self.reason]}" if agent[self.reason] else "")


LEAVING_PROGRESS = ProgressAttributes("acting_shards", "waiting_reason")
FAILBACK_PROGRESS = ProgressAttributes("away_shards", "away_reason")


def follow_progress(
    client: Client, agent: Row, progress: ProgressAttributes, parsed_args: Namespace, say: PrintLine
) -> dict[str, Any]:
    """Poll the agent until the count of ``progress`` is 0, and pass each change as text to ``say``; returns
    the agent. Raises :class:`NotFinishedInTime` after the time-out, or if for :data:`STUCK_SECONDS` there was
    always a reason why the count does not decrease; :class:`EndpointsUnreachable` if no controller answers at the
    time-out.
    """
    path = f"{API_PATH}/agents/{quote_segment(agent['id'])}"
    now = started = stuck_since = time.monotonic()
    said = ""
    while True:
        if (line := progress.line(agent)) != said:
            say(line)
            said = line
        if not agent[progress.count]:
            return dict(agent)
        # A moment without a reason starts the measurement again.
        stuck_since = stuck_since if agent[progress.reason] else now
        if now - stuck_since >= STUCK_SECONDS or now - started >= parsed_args.wait_seconds:
            raise NotFinishedInTime(f"{line}. The request remains in effect, and continues as soon as possible")
        time.sleep(POLL_SECONDS)
        now = time.monotonic()
        try:
            agent = client.get(path)["agent"]
        except EndpointsUnreachable as error:
            if now - started >= parsed_args.wait_seconds:
                raise
            say(str(error))
