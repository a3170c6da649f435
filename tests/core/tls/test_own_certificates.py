"""Stages of the expiry of the product's own certificates."""

import pytest

from evenkeel.core.tls.certificates import DAY_SECONDS
from evenkeel.core.tls.own_certificates import OwnCertificate, expiring_certificates


@pytest.mark.parametrize(
    ("days", "stage"), [(31, None), (30, 30), (8, 30), (7, 7), (1.5, 7), (1, 1), (0.1, 1), (0, 0), (-3, 0)]
)
def test_stage_is_the_smallest_within_which_a_certificate_expires(days: float, stage: int | None) -> None:
    assert OwnCertificate(name="a", ends_at=1000.0 + days * DAY_SECONDS).reached_expiry_stage(1000.0) == stage


def test_text_names_the_certificate_and_the_moment() -> None:
    one = OwnCertificate(name="message broker mq:5671", ends_at=0.0)
    assert one.text(7) == (
        "certificate of message broker mq:5671 expires within 7 d: valid until 1970-01-01T00:00:00+00:00"
    )
    assert "has expired" in one.text(0)


def test_expiring_ones_are_those_within_the_days_the_first_first() -> None:
    ends = {"a": 9, "b": 2, "c": -1}
    found = [OwnCertificate(name=name, ends_at=days * DAY_SECONDS) for name, days in ends.items()]
    assert [one.name for one in expiring_certificates(found, days=7, now_seconds=0.0)] == ["c", "b"]
