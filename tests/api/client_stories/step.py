"""One command line of a story, and how it is run and judged."""

import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from tests.api.client_shell import Ran
from tests.api.openstack_shell import class_of, openstack

PREFIX = "loadbalancer"


class Step(NamedTuple):
    """A command, without ``openstack loadbalancer``."""

    line: str
    """``{name}`` stands for an id that an earlier step kept under that name."""
    shows: Any = None
    """What must be in its output; of dictionaries a part is enough."""
    keeps: str = ""
    """Keep the id that it shows under this name."""
    refused: str = ""
    """It must fail, saying this."""

    @property
    def command(self) -> str:
        """The words that say which command it is. Raises :class:`ValueError` if there is none."""
        words = shlex.split(self.line)
        for count in range(len(words), 0, -1):
            if (command := " ".join(words[:count])) in COMMANDS:
                return command
        raise ValueError(f"the client has no such command: {self.line}")

    @property
    def options(self) -> frozenset[str]:
        """The options that it is given."""
        return frozenset(word for word in shlex.split(self.line) if word.startswith("--"))


Story = Sequence[Step]


def _commands() -> Mapping[str, EntryPoint]:
    found = entry_points(group="openstack.load_balancer.v2")
    return {entry.name.removeprefix(f"{PREFIX}_").replace("_", " "): entry for entry in found}


COMMANDS = _commands()
"""The installed client's commands: its own list, of which none is imported yet."""


def run(url: str, step: Step, kept: dict[str, str]) -> None:
    """Run it, judge it, and keep what it keeps."""
    from cliff.display import DisplayCommandBase

    line = step.line.format_map(kept)
    format_words = ("-f", "json") if issubclass(class_of(COMMANDS[step.command]), DisplayCommandBase) else ()
    ran = openstack(url, PREFIX, *shlex.split(line), *format_words)
    if step.refused:
        assert ran.code != 0 and step.refused.format_map(kept) in ran.errors, f"{line}: {ran}"
        return
    assert ran.code == 0, f"{line}: {ran.errors or ran}"
    if step.shows is not None:
        _judge(line, ran, filled(step.shows, kept))
    if step.keeps:
        kept[step.keeps] = ran.shown["id"]


def filled(wanted: Any, kept: dict[str, str]) -> Any:
    """With the ids that were kept."""
    if isinstance(wanted, dict):
        return {name: filled(value, kept) for name, value in wanted.items()}
    if isinstance(wanted, list):
        return [filled(each, kept) for each in wanted]
    return wanted.format_map(kept) if isinstance(wanted, str) else wanted


def _judge(line: str, ran: Ran, wanted: Any) -> None:
    assert part_of(ran.shown, wanted) == wanted, f"{line}: {ran.output}"


def part_of(shown: Any, wanted: Any) -> Any:
    """What was shown of what is wanted, so that a failure can be read; the rest is left out."""
    if isinstance(wanted, dict) and isinstance(shown, dict):
        return {name: part_of(shown.get(name), value) for name, value in wanted.items()}
    if isinstance(wanted, list) and isinstance(shown, list) and len(shown) == len(wanted):
        if all(isinstance(each, str) for each in wanted) and set(wanted) == set(shown):
            return wanted  # the client keeps tags in sets: their order is chance
        return [part_of(each, want) for each, want in zip(shown, wanted, strict=True)]
    return shown
