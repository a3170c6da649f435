from pathlib import Path

import pytest

from evenkeel.cmd.configuration.haproxyd_sections import HAPROXYD_OPTION_GROUPS
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.configuration.relations import OPTION_ORDERS
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS, CONTROLLER_OPTION_GROUPS
from evenkeel.config.problems import ConfigurationRefused


@pytest.mark.parametrize(
    ("groups", "text", "told"),
    [
        (
            CONTROLLER_OPTION_GROUPS,
            "[DEFAULT]\nsuspicion_interval = 6\n",
            "2: [DEFAULT] suspicion_interval: 6: at most 5, the value of session_ttl, is allowed",
        ),
        (
            CONTROLLER_OPTION_GROUPS,
            "[DEFAULT]\nschedule_interval = 9\n",
            "2: [DEFAULT] schedule_interval: 9: at most 5",
        ),
        (AGENT_OPTION_GROUPS, "[DEFAULT]\nservice_resync_interval = 2\n", "status_interval: 5: at most 2"),
        (HAPROXYD_OPTION_GROUPS, "[haproxyd]\npeers_port_last = 9\n", "haproxyd.peers_port_first: 10300: at most 9"),
    ],
)
def test_options_that_contradict_each_other(tmp_path: Path, groups: OptionGroups, text: str, told: str) -> None:
    file = tmp_path / "p.ini"
    file.write_text(text)
    with pytest.raises(ConfigurationRefused) as refusal:
        load_configuration("test", ["--config-file", str(file)], groups=groups)
    assert told in str(refusal.value) and len(refusal.value.problems) == 1


def test_every_relation_names_options_that_there_are() -> None:
    known = {
        f"{section}.{option.name}" if section else option.name
        for groups in (CONTROLLER_OPTION_GROUPS, AGENT_OPTION_GROUPS, HAPROXYD_OPTION_GROUPS)
        for section, options in groups.items()
        for option in options
    }
    assert {name for relation in OPTION_ORDERS for name in relation[:2]} <= known
