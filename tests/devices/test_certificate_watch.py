"""The ends of devices' certificates are looked at beside everything else."""

import asyncio

from evenkeel.core.tls.own_certificates import EXPIRY_CHECK_SECONDS
from evenkeel.devices.certificate_watch import RETRY_SECONDS, CertificateWatch
from tests.waiting import eventually


async def test_looks_are_due_again_after_an_hour_or_sooner_for_a_device_that_showed_nothing() -> None:
    ends: dict[tuple[str, int], float | None] = {("a", 443): 7.0, ("b", 8443): None}
    looks: list[tuple[str, int]] = []
    now = 100.0

    async def look(host: str, port: int) -> float | None:
        looks.append((host, port))
        return ends[host, port]

    watch = CertificateWatch(look, lambda: now)
    hosts = ("a", "b:8443")
    assert watch.certificate_expiry_times(hosts) == {}  # nobody waits for it
    await eventually(lambda: watch.certificate_expiry_times(hosts) == {"a": 7.0} and len(looks) == 2)
    ends["b", 8443] = 9.0
    now += RETRY_SECONDS
    await eventually(lambda: watch.certificate_expiry_times(hosts) == {"a": 7.0, "b:8443": 9.0})
    assert looks == [("a", 443), ("b", 8443), ("b", 8443)]  # settled: the clock stands still, so no other look is due
    ends["a", 443] = 11.0
    now += EXPIRY_CHECK_SECONDS
    await eventually(lambda: watch.certificate_expiry_times(hosts) == {"a": 11.0, "b:8443": 9.0})
    await watch.close()


async def test_closing_ends_a_look() -> None:
    async def look(host: str, port: int) -> float | None:
        await asyncio.Event().wait()
        return None

    watch = CertificateWatch(look)
    watch.certificate_expiry_times(["a"])
    await watch.close()
    assert watch._reading is None
