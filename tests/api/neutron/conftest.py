"""A running system for old clients, and what they are called with."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.api.client import Client
from tests.api.client_shell import Ran
from tests.api.neutron.maker import Maker
from tests.api.neutron.neutron_shell import neutron
from tests.api.stack import Stack

Shell = Callable[..., Any]


@pytest.fixture
def v2(api: Client) -> Maker:
    """Makes objects through LBaaS v2."""
    return Maker(api)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A controller and an agent of the module's own."""
    with Stack.started(tmp_path_factory.mktemp("stack")) as running:
        yield running


@pytest.fixture
def ran(stack: Stack) -> Callable[..., Ran]:
    """Runs ``neutron`` with these words."""
    return lambda *words: neutron(stack.url, *words)


@pytest.fixture
def shell(ran: Callable[..., Ran]) -> Shell:
    """Runs ``neutron`` with these words, which must succeed; what it showed. ``-f json`` where it can show so."""

    def run(*words: str) -> Any:
        formatted = ("-f", "json") if words[0].endswith(FORMATTED) else ()
        done = ran(words[0], *formatted, *words[1:])
        assert done.code == 0, f"neutron {' '.join(words)}: {done.output} {done.errors}"
        return done.shown

    return run


FORMATTED = ("-create", "-show", "-list", "-stats", "-on-agent", "hosting-loadbalancer", "hosting-pool")
"""How commands end that can answer in JSON."""
