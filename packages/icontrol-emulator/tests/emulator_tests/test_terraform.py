"""What Terraform's provider sends is taken, and what it reads is what it sent: each of its resources, replayed."""

from __future__ import annotations

from typing import Any

import pytest

from emulator_tests.authority import Authority
from emulator_tests.client import Client
from emulator_tests.clients.terraform import RESOURCES, Step, file_steps


def missing(wanted: Any, shown: Any) -> Any:
    """The part of ``wanted`` that is not shown; a structure may show more than what was sent."""
    if isinstance(wanted, dict) and isinstance(shown, dict):
        return {key: value for key, value in wanted.items() if missing(value, shown.get(key))}
    return None if wanted == shown else wanted


async def replay(device: Client, steps: list[Step]) -> None:
    for step in steps:
        size = len(step.raw or b"")
        headers = {"Content-Range": f"0-{size - 1}/{size}"} if step.raw else {}
        answer = await device.send(step.method, step.path, step.body, raw=step.raw, **headers)
        assert answer.status == step.status, (step.method, step.path, answer.text)
        assert not missing(step.shows, answer.document if step.shows else {}), (step.method, step.path)


@pytest.mark.parametrize("name", RESOURCES)
async def test_resource_is_made_changed_and_removed(device: Client, name: str) -> None:
    await replay(device, RESOURCES[name])


async def test_certificates_and_files_are_made_changed_and_removed(device: Client) -> None:
    leaf = Authority().issue_cert("site.test")
    files = file_steps(leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes())
    for steps in files.values():
        await replay(device, steps)
