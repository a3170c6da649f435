"""Look-up of ids by their first characters."""

import re

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators import views
from evenkeel.api.operators.query import query_options
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.errors import InvalidQuery

MAX_IDS = 10
"""Most ids of each kind that are listed for a short id."""
_PREFIX_PATTERN = re.compile(r"[0-9a-f-]{4,36}")


async def list_ids_with_prefix(services: Services, call: Call) -> Answer:
    """Handle GET /ids: list ids that begin with ``prefix``, by kind. Raises :class:`InvalidQuery` unless the
    prefix has 4 to 36 characters of an id.
    """
    prefix = query_options(call, ("prefix",)).get("prefix", "")
    if not _PREFIX_PATTERN.fullmatch(prefix):
        raise InvalidQuery(
            f"Invalid input for query parameter prefix. Value: '{prefix[:64]}'. Value should be the first 4 to 36"
            " characters of an id: digits, a to f, and dashes."
        )
    return json_answer({"ids": views.IdsView(**await services.operators.find_ids_by_prefix(prefix, limit=MAX_IDS))})
