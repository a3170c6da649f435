"""Every command of the stock command line, with every option it has, against controllers and an agent that run.

The commands and their options are the installed client's own, so that one which nobody drives fails here.
"""

from collections.abc import Iterator
from itertools import chain

import pytest

from tests.api.client_stories import catalogue, l7, listeners, pools, roots, tls, vips
from tests.api.client_stories.step import COMMANDS, PREFIX, Story, run
from tests.api.openstack_shell import class_of, shell_class
from tests.api.stack import Stack

STORIES: dict[str, Story] = {
    "load balancers": roots.LOAD_BALANCERS,
    "flavor and zone of a load balancer": roots.CHOSEN,
    "VIPs": vips.VIPS,
    "failover": vips.FAILOVER,
    "listeners": listeners.LISTENERS,
    "pools": pools.POOLS,
    "members": pools.MEMBERS,
    "health monitors": pools.MONITORS,
    "L7 policies": l7.POLICIES,
    "L7 rules": l7.RULES,
    "TLS of listeners": tls.LISTENERS,
    "TLS of pools": tls.POOLS,
    "datagrams": tls.DATAGRAMS,
    "quotas": catalogue.QUOTAS,
    "flavors": catalogue.FLAVORS,
    "availability zones": catalogue.ZONES,
    "providers": catalogue.PROVIDERS,
    "amphorae": catalogue.AMPHORAE,
}
"""Each makes what it needs and takes it away."""


def options_of(command: str) -> Iterator[frozenset[str]]:
    """Its own options, each with all its spellings; those about how answers are printed are left out."""
    kind = class_of(COMMANDS[command])
    parser = kind(shell_class()(), None, cmd_name=command).get_parser(f"{PREFIX} {command}")
    for group in parser._action_groups:
        if "formatter" in (group.title or "").lower():
            continue
        for action in group._group_actions:
            if action.option_strings and "--help" not in action.option_strings:
                yield frozenset(action.option_strings)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", STORIES)
def test_the_command_line_tells_the_story(stack: Stack, name: str) -> None:
    kept: dict[str, str] = {}
    for step in STORIES[name]:
        run(stack.url, step, kept)


def test_every_command_is_in_a_story() -> None:
    driven = {step.command for step in chain(*STORIES.values()) if not step.refused or step.command.startswith("amp")}
    assert set(COMMANDS) - driven == set()


def test_every_option_of_every_command_is_in_a_story() -> None:
    unused = {command: sorted(map(min, unused_of(command))) for command in COMMANDS}
    assert {command: names for command, names in unused.items() if names} == {}


def unused_of(command: str) -> Iterator[frozenset[str]]:
    """The options of a command that no story uses."""
    used = {name for step in chain(*STORIES.values()) if step.command == command for name in step.options}
    yield from (option for option in options_of(command) if not option & used)
