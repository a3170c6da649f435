"""Events in the operators' API: as a list, or as a stream."""

from evenkeel.api.common.event_stream import MEDIA_TYPE, EventStream, last_event_id
from evenkeel.api.common.event_view import event_view
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call, parse_bool
from evenkeel.api.operators.query import parse_number_within, query_options
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.errors import InvalidQuery

MAX_EVENTS = 1000
DEFAULT_EVENTS = 100
INT63_MAX = (1 << 63) - 1


async def list_events(services: Services, call: Call) -> Answer:
    """Handle GET /events: list events, oldest first, or stream new events to a client that accepts
    ``text/event-stream``. Raises :class:`InvalidQuery` for a bad parameter, and :class:`Unavailable` if the
    database is, or too many clients listen.
    """
    if MEDIA_TYPE in call.headers.get(b"accept", b""):
        return await event_stream(services, call)
    options = query_options(call, ("after", "limit", "newest", "object_id", "by"))
    rows = await services.operators.events(
        after=parse_number_within("after", options.get("after", "0"), 0, INT63_MAX),
        limit=parse_number_within("limit", options.get("limit", str(DEFAULT_EVENTS)), 1, MAX_EVENTS),
        newest=parse_bool("newest", options.get("newest", "false")),
        object_id=_checked_non_empty("object_id", options.get("object_id"), "an id"),
        by=_checked_non_empty("by", options.get("by"), "the name or id of a user"),
    )
    return json_answer({"events": [event_view(row) for row in rows]})


def _checked_non_empty(name: str, value: str | None, allowed: str) -> str | None:
    if value == "":
        raise InvalidQuery(f"Invalid input for query parameter {name}. Value: ''. Value should be {allowed}.")
    return value


async def event_stream(services: Services, call: Call) -> Answer:
    """Return a stream of events after the id in ``Last-Event-ID``, or else in ``after``; without either, of
    new events only. Raises :class:`InvalidQuery`, :class:`TooManyListeners`, and :class:`Unavailable` if the
    database is.
    """
    options = query_options(call, ("after",))
    after = last_event_id(call.headers.get(b"last-event-id"))
    if after is None and "after" in options:
        after = parse_number_within("after", options["after"], 0, INT63_MAX)
    # Before the response begins, so that an unreachable database is a 503 and not an empty stream.
    await services.event_feed.start()
    return EventStream(services.event_feed, after)
