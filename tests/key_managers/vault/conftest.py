"""A real OpenBao for the tests of a module, and the key manager that the configuration opens on it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evenkeel.cmd.config_files import load
from evenkeel.cmd.key_manager_options import OpenedKeyManager, open_key_manager
from evenkeel.cmd.sections import CONTROLLER
from tests.key_managers.vault.world import Vault
from tests.services.installation import NotInstallable
from tests.services.openbao import OpenBao, program

Opener = Callable[..., OpenedKeyManager]


@pytest.fixture(scope="module")
def vault() -> Iterator[Vault]:
    """With our role; the first time it is installed."""
    try:
        server = OpenBao(program())
    except NotInstallable as error:
        pytest.skip(str(error))
    server.start()
    yield Vault(server)
    server.close()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    """Opens key managers with options of ``[vault]``, and closes them."""
    managers: list[OpenedKeyManager] = []

    def open_with(**options: object) -> OpenedKeyManager:
        file = tmp_path / "evenkeel.ini"
        lines = [f"{name} = {value}" for name, value in options.items()]
        file.write_text("\n".join(["[certificates]", "key_manager = vault", "[vault]", *lines]))
        conf = load("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER)
        managers.append(open_key_manager(conf))
        return managers[-1]

    yield open_with
    for manager in managers:
        manager.close()
