"""Writes docs/reference/options.md and a sample configuration of each process from the options the processes and the
installed device drivers declare.

``--check`` only compares; ``--print`` writes to standard output.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from oslo_config import cfg

from evenkeel.cmd import options
from evenkeel.cmd.configuration import sections
from evenkeel.cmd.configuration.processes import PROCESSES
from evenkeel.cmd.configuration.sample import sample
from evenkeel.cmd.device_drivers import declared_options, installed_drivers
from evenkeel.cmd.logs import LOGGING
from evenkeel.config.values import allowed_values, type_of

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "options.md"
HEAD = """# Options

Options are in ini files read by oslo.config; every process takes `--config-file` (several times: later files win).
[Configure](../how-to/configure.md#write-and-check-a-configuration) describes how to check a file.
Several processes may share a file.
Unknown options and sections are refused at start, with the file, the section and the most similar option.
Samples: [controller](controller.ini.sample), [agent](agent.ini.sample), [haproxyd](haproxyd.ini.sample).
Lists are separated by commas; in a value `$name` stands for the value of option `name`, and a `$` is written `$$`.
`scripts/generate_options_reference.py` generates this page; `--print` shows the options of other packages' drivers too.
"""
COLUMNS = "| option | type | default | meaning |\n|---|---|---|---|\n"
NOTES = {
    "identity": " (and oslo.policy's and Keystone's: see how-to/authentication.md)",
    "neutron": " (and keystoneauth's options: see how-to/use-neutron.md)",
    "barbican": " (and keystoneauth's options: see how-to/keep-certificates.md)",
    "vault": " (see how-to/keep-certificates.md)",
    "certificates": " (see how-to/keep-certificates.md)",
    "neutron_agent": " (see how-to/attach-bigips-to-networks.md)",
}
CONDITIONS = {
    "neutron": " with driver = neutron",
    "barbican": " with key_manager = barbican",
    "vault": " with key_manager = vault",
}


def tables() -> Iterator[tuple[str, Sequence[cfg.Opt]]]:
    """Titles and options of the page."""
    yield "Every process, `[DEFAULT]`", LOGGING
    yield "Controllers and agents, `[DEFAULT]`", [option for option in options.COMMON if option not in LOGGING]
    yield "Controller, `[DEFAULT]`", options.CONTROLLER
    yield from of("Controller", sections.CONTROLLER)
    yield "Agent, `[DEFAULT]`", options.AGENT
    yield from of("Agent", sections.AGENT)
    for driver in sorted(installed_drivers()):
        if declared := declared_options(driver):
            yield f"Agent with device_driver = {driver}, `[{driver}]`", declared
    yield from of("evenkeel-haproxyd", sections.HAPROXYD)


def of(process: str, declared: sections.OptionGroups) -> Iterator[tuple[str, Sequence[cfg.Opt]]]:
    """A process's sections but for ``[DEFAULT]``."""
    for name, listed in declared.items():
        if name is not None:
            yield f"{process}{CONDITIONS.get(name, '')}, `[{name}]`{NOTES.get(name, '')}", listed


def row(option: cfg.Opt) -> str:
    """One option as a table row."""
    default = "" if option.default in (None, [], "") else f"`{option.default}`"
    return f"| `{option.name}` | {kind(option)} | {default} | {option.help} |"


def kind(option: cfg.Opt) -> str:
    """The option's type, with the allowed values unless the type says them."""
    allowed = "" if isinstance(option, cfg.BoolOpt) else allowed_values(option)
    return f"{type_of(option)}: {allowed}" if allowed else type_of(option)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, listed in tables():
        rows = "\n".join(map(row, listed))
        parts.append(f"\n## {title}\n\n{COLUMNS}{rows}\n")
    return "".join(parts)


def main() -> int:
    """Write, print or compare."""
    pages = {TARGET: page(), **{TARGET.with_name(f"{name}.ini.sample"): sample(name) for name in PROCESSES}}
    if "--check" in sys.argv:
        return 0 if all(path.read_text() == text for path, text in pages.items()) else 1
    if "--print" in sys.argv:
        print(page(), end="")
        return 0
    for path, text in pages.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
