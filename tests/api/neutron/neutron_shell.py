"""The old ``neutron`` command line."""

import warnings

import pytest

from tests.api.client_shell import Ran, run_shell

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the client's own past
    from neutronclient.common.clientmanager import ClientManager
    from neutronclient.shell import NeutronShell


def neutron(url: str, *words: str, auth_type: str = "none") -> Ran:
    """Run ``neutron`` with these words. ``url``: the server's root; empty: Keystone's catalogue tells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vars(ClientManager)["neutron"], "_handle", None)  # it keeps one for the whole process
        patch.setenv("OS_AUTH_TYPE", auth_type)
        if url:
            patch.setenv("OS_ENDPOINT", f"{url}/neutron")
        return run_shell(lambda words: NeutronShell("2.0").run(words), *words)
