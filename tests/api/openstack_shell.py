"""The stock ``openstack`` command line."""

import time
import warnings
from types import SimpleNamespace

import pytest

from tests.api.client_shell import Ran, run_shell

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the client's own futures
    import osc_lib.utils
    from openstackclient.shell import OpenStackShell

POLL_SECONDS = 0.05
"""The client looks every three seconds whether what it waits for is there."""


def openstack(url: str, *words: str) -> Ran:
    """Run ``openstack`` with these words against a server without Keystone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(osc_lib.utils, "time", _Impatient)
        login = ("--os-auth-type", "none", "--os-endpoint", url)
        return run_shell(lambda words: OpenStackShell().run(words), *login, *words)


_Impatient = SimpleNamespace(sleep=lambda seconds: time.sleep(min(seconds, POLL_SECONDS)), time=time.time)
