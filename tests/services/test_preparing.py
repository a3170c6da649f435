"""All servers are installed that can be, and the reasons of others are returned."""

from tests.services.installation import NotInstallable
from tests.services.preparing import prepare


def test_failed_installation_is_named_and_keeps_no_other_from_being_installed() -> None:
    installed: list[str] = []

    def fail() -> None:
        raise NotInstallable("a 1 cannot be installed: no network")

    assert prepare({"a": fail, "b": lambda: installed.append("b")}) == ["a 1 cannot be installed: no network"]
    assert installed == ["b"]
