from pathlib import Path

import pytest

from evenkeel.cmd.configuration.haproxyd_sections import HAPROXYD
from evenkeel.cmd.configuration.loading import load
from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.configuration.relations import RELATIONS
from evenkeel.cmd.configuration.sections import AGENT, CONTROLLER
from evenkeel.config.problems import ConfigurationRefused


@pytest.mark.parametrize(
    ("groups", "text", "told"),
    [
        (
            CONTROLLER,
            "[DEFAULT]\nsuspicion_interval = 6\n",
            "2: [DEFAULT] suspicion_interval: 6: at most 5, the value of session_ttl, is allowed",
        ),
        (CONTROLLER, "[DEFAULT]\nschedule_interval = 9\n", "2: [DEFAULT] schedule_interval: 9: at most 5"),
        (AGENT, "[DEFAULT]\nservice_resync_interval = 2\n", "status_interval: 5: at most 2"),
        (HAPROXYD, "[haproxyd]\npeers_port_last = 9\n", "haproxyd.peers_port_first: 10300: at most 9"),
    ],
)
def test_options_that_contradict_each_other(tmp_path: Path, groups: OptionGroups, text: str, told: str) -> None:
    file = tmp_path / "p.ini"
    file.write_text(text)
    with pytest.raises(ConfigurationRefused) as refusal:
        load("test", ["--config-file", str(file)], groups=groups)
    assert told in str(refusal.value) and len(refusal.value.problems) == 1


def test_every_relation_names_options_that_there_are() -> None:
    known = {
        f"{section}.{option.name}" if section else option.name
        for groups in (CONTROLLER, AGENT, HAPROXYD)
        for section, options in groups.items()
        for option in options
    }
    assert {name for relation in RELATIONS for name in relation[:2]} <= known
