"""Certificates of the product itself: each stage of their expiry is one event, whichever controllers see it."""

import time

from evenkeel.core.tls.certificates import DAY_SECONDS
from evenkeel.core.tls.own_certificates import OwnCertificate, expiring_certificates
from evenkeel.store.sql_store import SqlStore

BROKER = "message broker mq-1:5671"


async def told(store: SqlStore, days: float, name: str = BROKER) -> list[str]:
    """The events of own certificates, after one was seen that expires in so many days."""
    ends_at = float(round(time.time() + days * DAY_SECONDS))
    await store.scheduling.record_own_certificates((OwnCertificate(name=name, ends_at=ends_at),))
    return await events(store)


async def events(store: SqlStore) -> list[str]:
    found = await store.operators.events(after=0, limit=100)
    return [event.text.partition(":")[0] + event.text.partition(":")[2][:5] for event in found if "own_" in event.kind]


async def test_each_stage_of_expiry_is_reported_once_and_a_renewed_certificate_begins_again(store: SqlStore) -> None:
    soon = OwnCertificate(name=BROKER, ends_at=time.time() + 6.5 * DAY_SECONDS)
    for _ in range(2):
        await store.scheduling.record_own_certificates((soon,))
    event = (await store.operators.events(after=0, limit=100))[-1]
    assert len(await events(store)) == 1
    assert event.kind == "own_certificate_expiring"
    assert event.text.startswith(f"certificate of {BROKER} expires within 7 d: valid until ")
    for days, count in ((400.0, 1), (20.0, 2), (0.5, 3), (-1.0, 4)):
        assert len(await told(store, days)) == count
    newest = (await store.operators.events(after=0, limit=100))[-1]
    assert newest.kind == "own_certificate_expired" and "has expired" in newest.text


async def test_certificates_are_listed_by_expiry(store: SqlStore) -> None:
    now = time.time()
    seen = [OwnCertificate(name=f"device {days}", ends_at=now + days * DAY_SECONDS) for days in (90, 2, 5)]
    await store.scheduling.record_own_certificates(seen)
    found = await store.operators.own_certificates()
    assert [one.name for one in found] == ["device 2", "device 5", "device 90"]
    assert expiring_certificates(found, days=7, now_seconds=now) == (found[0], found[1])
