"""Answers that are JSON and not what was asked for, as of a proxy before the device or a daemon that is broken."""

from typing import Any

import pytest

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.resources.capacity import Metric
from evenkeel.devices.bigip.icontrol.client import IControl
from tests.devices.bigip.rig import BigIpRig
from tests.devices.services import batch, service

MALFORMED: list[Any] = [
    {"entries": "none"},
    {"entries": ["none"]},
    {"entries": {"a": "none"}},
    {"entries": {"a": {"nestedStats": "none"}}},
    {"entries": {"a": {"nestedStats": {"entries": ["none"]}}}},
    {"entries": {"a": {"nestedStats": {"entries": {"b": "none"}}}}},
]
ANY = pytest.mark.parametrize("answer", MALFORMED, ids=range(len(MALFORMED)))


def answering(monkeypatch: pytest.MonkeyPatch, part: str, answer: Any) -> None:
    """Reads of paths that contain ``part`` give ``answer``."""
    get = IControl.get

    async def malformed(self: IControl, path: str, **query: str) -> dict[str, Any]:
        return dict(answer) if part in path else await get(self, path, **query)

    monkeypatch.setattr(IControl, "get", malformed)


@ANY
async def test_a_check_tells_it_as_a_problem(rig: BigIpRig, monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    answering(monkeypatch, "sys/ready", answer)
    (state,) = await rig.agent().check()
    assert "answered something else than" in state.problem


@ANY
@pytest.mark.parametrize(
    ("path", "metric"), [("sys/traffic", Metric.THROUGHPUT), ("client-ssl/stats", Metric.SSLTPS)], ids=str
)
async def test_capacity_is_not_known(
    rig: BigIpRig, monkeypatch: pytest.MonkeyPatch, path: str, metric: Metric, answer: Any
) -> None:
    answering(monkeypatch, path, answer)
    with pytest.raises(DeviceUnavailable, match="answered something else than"):
        await rig.agent().capacity([metric])


@ANY
async def test_an_observation_of_the_other_device_counts(
    pair: BigIpRig, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    agent = pair.owner()
    await agent.apply(batch(service(), complete=True))
    get, bad = IControl.get_with_cached_decoding, pair.emulator.devices["bigip-2"].url.removeprefix("https://")

    async def malformed(self: IControl, path: str) -> dict[str, Any]:
        return dict(answer) if self.host == bad and "virtual/stats" in path else await get(self, path)

    monkeypatch.setattr(IControl, "get_with_cached_decoding", malformed)
    seen = await agent.observe()
    assert seen.statuses and [state.name for state in seen.devices if not state.reachable] == [bad]


async def test_a_claim_that_was_edited_by_hand_beyond_recognition_is_one_without_records(
    rig: BigIpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.agent().check()
    get = IControl.get

    async def malformed(self: IControl, path: str, **query: str) -> dict[str, Any]:
        found = await get(self, path, **query)
        return {**found, "records": ["none"]} if "evenkeel_owner" in path else found

    monkeypatch.setattr(IControl, "get", malformed)
    (state,) = await rig.agent().check()
    assert state.reachable and not state.problem and not state.incarnation
