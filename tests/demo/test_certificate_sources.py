"""How the website gets its certificate, with and without a port 80 that an authority can look at."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from evenkeel.cli.client import API_PATH, Client
from evenkeel.demo import __main__ as demo
from evenkeel.demo import waiting
from evenkeel.demo.addresses import VipAddress
from evenkeel.demo.certificate_sources import AcmeCertificates
from evenkeel.demo.waiting import StepFailed

PATH = f"{API_PATH}/certificates/p/website"
PLACE = VipAddress(cidr="127.0.0.0/24", address="127.0.0.1", port=20_000, https_port=20_001)


class Controllers:
    """Stands for the client of the operators' API: keeps what is sent, and shows a certificate in these states."""

    def __init__(self, *states: str) -> None:
        self.sent: list[tuple[str, Any]] = []
        self._states = list(states)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        self.sent.append((path, body))
        return {"certificate": {"reference": "directory://p/website"}}

    put = post

    def get(self, path: str, _: Mapping[str, Any]) -> Any:
        assert path == PATH
        state = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        return {"certificate": {"state": state, "problem": "no answer", "reference": "directory://p/website"}}


async def test_a_certificate_is_requested_by_its_name_and_used_once_it_is_issued() -> None:
    controllers, said = Controllers("waiting", "ordering", "issued"), list[str]()
    source = AcmeCertificates(cast(Client, controllers), said.append, proof="a record has proven it")
    assert await source.provide_first("p") == "directory://p/website"
    assert said[-1] == "a record has proven it, and the certificate is issued: directory://p/website"
    await source.replace_certificate("p")
    request = {"project_id": "p", "name": "website", "names": ["www.example.org"]}
    assert controllers.sent == [
        (f"{API_PATH}/certificates", {"certificate": request}),
        (f"{PATH}/revoke", {"revocation": {"reason": "superseded"}}),
    ]


async def test_a_certificate_that_is_not_issued_fails_the_step_with_its_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "STEP_SECONDS", 0.0)
    source = AcmeCertificates(cast(Client, Controllers("failed")), lambda _: None, proof="")
    with pytest.raises(StepFailed, match="it is failed: no answer"):
        await source.provide_first("p")


def test_the_name_is_proven_in_a_zone_where_the_port_of_authorities_cannot_be_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server((PLACE.address, 0)) as other:
        taken = other.getsockname()[1]
        monkeypatch.setattr(demo, "HTTP_PORT", taken)
        zone, proof = demo.choose_challenge(PLACE)
    assert zone == "example.org" and f"port {taken} of 127.0.0.1 cannot be bound" in proof
    monkeypatch.setattr(demo, "is_free", lambda *_: True)
    assert demo.choose_challenge(PLACE) == ("", f"the load balancer has answered the challenge on port {taken}")


def test_the_printed_command_names_the_root_and_the_address(tmp_path: Path) -> None:
    assert demo.fetch_command(tmp_path / "authority.pem", PLACE) == (
        f"curl --cacert {tmp_path}/authority.pem --resolve www.example.org:20001:127.0.0.1 "
        "https://www.example.org:20001/"
    )
