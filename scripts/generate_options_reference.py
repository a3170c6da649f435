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

Ini files read by oslo.config; every process takes `--config-file` (several times: later files win).
Several processes may share a file. An option or section that none of them reads, no installed device driver and no
library, is refused at start, with the file, the section and the nearest option that there is.
`evenkeel config sample PROCESS` prints a file with all of them ([controller](controller.ini.sample),
[agent](agent.ini.sample), [haproxyd](haproxyd.ini.sample)), `evenkeel config check PROCESS` checks one,
`evenkeel config show PROCESS --origin` shows where each value comes from; these commands need the extra
`cli` beside that of the process. Lists are separated by commas.
In a value `$name` stands for the value of option `name`; a `$` is written `$$`.
This page is made from the code by `scripts/generate_options_reference.py`; where drivers of other packages are
installed, `--print` shows it with theirs.
"""
COLUMNS = "| option | type | default | allowed | meaning |\n|---|---|---|---|---|\n"
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
    return f"| `{option.name}` | {type_of(option)} | {default} | {allowed_values(option)} | {option.help} |"


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
