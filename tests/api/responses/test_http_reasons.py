"""Names of statuses."""

from http import HTTPStatus

from evenkeel.api.responses.http_reasons import reason_phrase


def test_reason_phrases_are_those_that_clients_know() -> None:
    assert reason_phrase(413) == "Request Entity Too Large"
    assert reason_phrase(422) == "Unprocessable Entity"
    assert [reason_phrase(status) for status in (200, 401, 404, 409)] == ["OK", "Unauthorized", "Not Found", "Conflict"]
    assert all(reason_phrase(status) for status in HTTPStatus)
