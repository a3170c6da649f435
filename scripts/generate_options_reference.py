"""Writes docs/reference/options.md and a sample configuration of each process from the options the processes and the
installed device drivers declare.

``--check`` only compares; ``--print`` writes to standard output.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from oslo_config import cfg

from evenkeel.cmd.configuration import sections
from evenkeel.cmd.configuration.haproxyd_sections import HAPROXYD_OPTION_GROUPS
from evenkeel.cmd.configuration.processes import PROCESSES
from evenkeel.cmd.configuration.sample import sample_configuration
from evenkeel.cmd.options import options
from evenkeel.cmd.options.acme_options import NAMED_AUTHORITY_OPTIONS
from evenkeel.cmd.options.device_drivers import declared_options, installed_drivers
from evenkeel.cmd.options.dns_options import DNS_ZONE_OPTIONS
from evenkeel.cmd.options.logging_options import LOGGING_OPTIONS
from evenkeel.config.values import allowed_values, type_words

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "options.md"
HEAD = """# Options

Options are in ini files, which processes may share; `--config-file` may be given several times: later files win.
Unknown options and sections are refused at start, with file, section and the most similar option.
[Configure](../how-to/configure.md#write-and-check-a-configuration) describes how to check a file.
Samples: [controller](controller.ini.sample), [agent](agent.ini.sample), [haproxyd](haproxyd.ini.sample).
An option without a type is a string.
Lists are separated by commas; in a value `$name` is the value of option `name`, and `$$` a `$`.
`scripts/generate_options_reference.py` generates this page; `--print` adds the options of other packages' drivers.
"""
HOW_TO = re.compile(r"(?<!\.\./)how-to/([\w-]+)\.md")
SENTENCE_ENDS = re.compile(r"(?<=[a-z)`0-9][.?]) (?=[A-Z])")
NOTES = {
    "identity": "See how-to/authentication.md, also for the options of oslo.policy and Keystone.",
    "neutron": "See how-to/use-neutron.md; further options are keystoneauth's.",
    "barbican": "See how-to/keep-certificates.md; further options are keystoneauth's.",
    "vault": "See how-to/keep-certificates.md.",
    "certificates": "See how-to/keep-certificates.md.",
    "acme": "See how-to/get-certificates.md.",
    "dns:NAME": "A zone NAME for dns-01: see how-to/get-certificates.md.",
    "acme:NAME": "A further authority NAME: see how-to/get-certificates.md.",
    "neutron_agent": "See how-to/attach-bigips-to-networks.md.",
    "quotas": "For projects without quotas of their own.",
    "limits": "Above the defaults, a load balancer may not fit an answer to its agent (64 MiB) or a device.",
}
CONDITIONS = {
    "neutron": " with driver = neutron",
    "barbican": " with key_manager = barbican",
    "vault": " with key_manager = vault",
}


def tables() -> Iterator[tuple[str, Sequence[cfg.Opt]]]:
    """Titles and options of the page."""
    yield "Every process, `[DEFAULT]`", LOGGING_OPTIONS
    yield (
        "Controllers and agents, `[DEFAULT]`",
        [option for option in options.COMMON_OPTIONS if option not in LOGGING_OPTIONS],
    )
    yield "Controller, `[DEFAULT]`", options.CONTROLLER_OPTIONS
    yield from of("Controller", sections.CONTROLLER_OPTION_GROUPS)
    yield "Controller, `[acme:NAME]`", NAMED_AUTHORITY_OPTIONS
    yield "Controller, `[dns:NAME]`", DNS_ZONE_OPTIONS
    yield "Agent, `[DEFAULT]`", options.AGENT_OPTIONS
    yield from of("Agent", sections.AGENT_OPTION_GROUPS)
    for driver in sorted(installed_drivers()):
        if declared := declared_options(driver):
            yield f"Agent with device_driver = {driver}, `[{driver}]`", declared
    yield from of("evenkeel-haproxyd", HAPROXYD_OPTION_GROUPS)


def of(process: str, declared: sections.OptionGroups) -> Iterator[tuple[str, Sequence[cfg.Opt]]]:
    """A process's sections but for ``[DEFAULT]``."""
    for name, listed in declared.items():
        if name is not None:
            yield f"{process}{CONDITIONS.get(name, '')}, `[{name}]`", listed


def line(option: cfg.Opt) -> str:
    """One option as an item of a list."""
    default = "" if option.default in (None, [], "") else f"default `{option.default}`"
    facts = "; ".join(filter(None, (kind(option), default)))
    return f"- `{option.name}`{f' ({facts})' if facts else ''}: {SENTENCE_ENDS.sub(chr(10) + '  ', option.help)}"


def line_or_reference(option: cfg.Opt, section: str, shown: dict[str, str]) -> str:
    """One option as an item of a list, or the section above that has the same option. ``shown``: sections by line."""
    full = line(option)
    above = shown.setdefault(full, section)
    return full if above == section else f"- `{option.name}`: as in {above}."


def shared_apart() -> Iterator[tuple[str, Sequence[cfg.Opt]]]:
    """Titles and options of the page; a section that contains all options of another process's section of that name
    comes as two: the shared options, and the rest."""
    listed_tables = list(tables())
    for title, listed in listed_tables:
        section = title.rpartition(", ")[2]
        shared = next(
            (its for other, its in listed_tables if other.endswith(f", {section}") and is_part(its, listed)), ()
        )
        if shared:
            yield title, shared
        yield title, [option for option in listed if option not in shared]


def is_part(options: Sequence[cfg.Opt], of_these: Sequence[cfg.Opt]) -> bool:
    """Whether ``of_these`` has more options, and all of ``options`` among them."""
    return len(options) < len(of_these) and all(option in of_these for option in options)


def distinct() -> Iterator[tuple[str, Sequence[cfg.Opt]]]:
    """Titles and options of the page; a section that several processes have alike comes once."""
    found: list[tuple[str, Sequence[cfg.Opt]]] = []
    for title, listed in shared_apart():
        process, _, section = title.rpartition(", ")
        alike = next(
            (n for n, (other, its) in enumerate(found) if its == listed and other.endswith(f", {section}")), None
        )
        if alike is None:
            found.append((title, listed))
        else:
            others = found[alike][0].removesuffix(f", {section}")
            found[alike] = (f"{others} and {process}, {section}", listed)
    yield from found


def kind(option: cfg.Opt) -> str:
    """The option's type, with the allowed values unless the type says them; empty: any string."""
    allowed = "" if isinstance(option, cfg.BoolOpt) else allowed_values(option)
    if allowed:
        return f"{type_words(option)}: {allowed}"
    return "" if type_words(option) == "string" else type_words(option)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    shown: dict[str, str] = {}
    for title, listed in distinct():
        section = title.rpartition(", ")[2]
        note = NOTES.get(section.strip("`[]"), "")
        lines = [line_or_reference(option, section, shown) for option in listed]
        parts.append("\n".join([f"\n## {title}\n", *([f"{note}\n"] if note else []), *lines, ""]))
    return HOW_TO.sub(r"[\1](../how-to/\1.md)", "".join(parts))


def main() -> int:
    """Write, print or compare."""
    pages = {
        TARGET: page(),
        **{TARGET.with_name(f"{name}.ini.sample"): sample_configuration(name) for name in PROCESSES},
    }
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
