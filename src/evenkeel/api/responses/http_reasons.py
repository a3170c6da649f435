"""HTTP reason phrases, independent of the Python version: 3.13 changed to those of RFC 9110, which clients of these
APIs do not expect.
"""

from http import HTTPStatus

_OF_RFC_7231 = {
    413: "Request Entity Too Large",
    414: "Request-URI Too Long",
    416: "Requested Range Not Satisfiable",
    422: "Unprocessable Entity",
}


def reason_phrase(status: int) -> str:
    """Return the reason phrase of a status, for example ``Request Entity Too Large`` for 413. Raises
    :class:`ValueError` for an unknown status.
    """
    return _OF_RFC_7231.get(status) or HTTPStatus(status).phrase
