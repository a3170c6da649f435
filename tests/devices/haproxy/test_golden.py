"""Every feature's configuration is as it was reviewed, and HAProxy takes it without a warning.

After a wanted change: ``python -m tests.devices.haproxy.test_golden`` writes the files; read their diff.
"""

import functools
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenkeel.haproxyd import wire
from tests.devices.haproxy.configuration import page, rendered, verdict
from tests.devices.haproxy.features import CONTENTS, FEATURES
from tests.services.haproxy import binaries

GOLDEN = Path(__file__).parent / "golden"
IDS = re.compile(r"\b(?:lb|listener|pool|member|policy)-(?=\d)")


@pytest.mark.parametrize("name", FEATURES)
def test_rendered_configuration_equals_the_reviewed_file(name: str) -> None:
    assert page(rendered(FEATURES[name])) == (GOLDEN / f"{name}.cfg").read_text()


@pytest.mark.parametrize("branch", binaries())
@pytest.mark.parametrize("name", FEATURES)
def test_haproxy_of_each_branch_takes_it_without_a_warning(name: str, branch: str) -> None:
    assert verdicts(branch)[name] == ""


@functools.cache
def verdicts(branch: str) -> dict[str, str]:
    """What HAProxy finds wrong with each feature. One process checks all of them; only if it has anything to say, one
    process checks each."""
    program = binaries()[branch]
    found = {name: rendered(service, CONTENTS) for name, service in FEATURES.items()}
    if verdict(*(renamed(one, name) for name, one in found.items()), program=program) == "":
        return dict.fromkeys(FEATURES, "")
    return {name: verdict(one, program=program) for name, one in found.items()}


def renamed(load_balancer: wire.LoadBalancerConfig, feature: str) -> wire.LoadBalancerConfig:
    """The load balancer with the feature's name before the ids of all objects, which are the same in all features."""

    def within(value: Any) -> Any:
        if isinstance(value, str):
            return IDS.sub(rf"{feature}-\g<0>", value)
        if isinstance(value, dict):
            return {key: within(each) for key, each in value.items()}
        return [within(each) for each in value] if isinstance(value, list | tuple) else value

    return msgspec.convert(within(msgspec.to_builtins(load_balancer)), wire.LoadBalancerConfig)


def test_the_features_that_one_process_checks_share_no_name() -> None:
    names = [
        part.name
        for feature, service in FEATURES.items()
        for one in (renamed(rendered(service, CONTENTS), feature),)
        for part in (*one.frontends, *one.backends)
    ]
    assert len(names) == len(set(names)) > len(FEATURES)


@pytest.mark.parametrize("branch", list(binaries())[:1])
def test_a_fault_of_one_feature_is_found_among_all(branch: str) -> None:
    faulty = rendered(FEATURES["http"])
    frontend = msgspec.structs.replace(faulty.frontends[0], lines=(*faulty.frontends[0].lines, "no-such-keyword"))
    broken = msgspec.structs.replace(faulty, frontends=(frontend,))
    others = [renamed(rendered(service, CONTENTS), name) for name, service in FEATURES.items()]
    assert "no-such-keyword" in verdict(*others, renamed(broken, "broken"), program=binaries()[branch])


def test_there_is_no_golden_file_too_many() -> None:
    assert {file.stem for file in GOLDEN.glob("*.cfg")} == set(FEATURES)


if __name__ == "__main__":
    for each, service in FEATURES.items():
        (GOLDEN / f"{each}.cfg").write_text(page(rendered(service)))
