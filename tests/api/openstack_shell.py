"""The stock ``openstack`` command line. It is imported when it is run: that takes half a second, which processes that
only collect tests do not spend."""

import time
import warnings
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import pytest

from tests.api.client_shell import Ran, run_shell

POLL_SECONDS = 0.05
"""The client looks every three seconds whether what it waits for is there."""


def shell_class() -> Any:
    """The class of the client's application."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the client's own futures
        from openstackclient.shell import OpenStackShell

        return OpenStackShell


def class_of(command: EntryPoint) -> Any:
    """The class of one of its commands."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return command.load()


def openstack(url: str, *words: str) -> Ran:
    """Run ``openstack`` with these words against a server without Keystone."""
    shell = shell_class()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("osc_lib.utils.time", _Impatient)
        login = ("--os-auth-type", "none", "--os-endpoint", url)
        return run_shell(lambda words: shell().run(words), *login, *words)


_Impatient = SimpleNamespace(sleep=lambda seconds: time.sleep(min(seconds, POLL_SECONDS)), time=time.time)
