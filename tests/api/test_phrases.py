"""Names of statuses."""

from http import HTTPStatus

from evenkeel.api.phrases import phrase_of


def test_they_are_those_that_clients_know() -> None:
    assert phrase_of(413) == "Request Entity Too Large"
    assert phrase_of(422) == "Unprocessable Entity"
    assert [phrase_of(status) for status in (200, 401, 404, 409)] == ["OK", "Unauthorized", "Not Found", "Conflict"]
    assert all(phrase_of(status) for status in HTTPStatus)
