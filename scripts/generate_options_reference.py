"""Writes docs/reference/options.md from the options the processes register; ``--check`` only compares."""

import sys
from pathlib import Path

from oslo_config import cfg

from evenkeel.cmd import identity_options, options
from evenkeel.cmd.address_options import ADDRESSES
from evenkeel.cmd.haproxyd_options import HAPROXYD
from evenkeel.cmd.identity_options import IDENTITY
from evenkeel.cmd.limit_options import LIMITS
from evenkeel.cmd.network_options import NETWORK, NEUTRON
from evenkeel.cmd.quota_options import QUOTAS

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "options.md"
HEAD = """# Options

Ini files read by oslo.config; every process takes `--config-file` (several times: later files win).
This page is made from the code by `scripts/generate_options_reference.py`.
"""
SECTIONS = [
    ("Every process, `[DEFAULT]`", options.COMMON),
    ("Controller, `[DEFAULT]`", options.CONTROLLER),
    ("Controller, `[database]`", options.DATABASE),
    ("Controller, `[api]`", options.API + identity_options.API + ADDRESSES),
    ("Controller, `[identity]` (and oslo.policy's and Keystone's: see how-to/authentication.md)", IDENTITY),
    ("Controller, `[quotas]`", QUOTAS),
    ("Controller, `[limits]`", LIMITS),
    ("Controller, `[network]`", NETWORK),
    ("Controller with driver = neutron, `[neutron]` (and keystoneauth's options: see how-to/use-neutron.md)", NEUTRON),
    ("Agent, `[DEFAULT]`", options.AGENT),
    ("Agent with device_driver = bigip, `[bigip]`", options.BIGIP),
    ("Agent with device_driver = haproxy, `[haproxy]`", options.HAPROXY),
    ("evenkeel-haproxyd, `[haproxyd]` (and `debug` in `[DEFAULT]`)", HAPROXYD),
]


def row(option: cfg.Opt) -> str:
    """One option as a table row."""
    default = "" if option.default in (None, [], "") else f"`{option.default}`"
    return f"| `{option.name}` | {default} | {option.help} |"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, group in SECTIONS:
        parts.append(
            f"\n## {title}\n\n| option | default | meaning |\n|---|---|---|\n" + "\n".join(map(row, group)) + "\n"
        )
    return "".join(parts)


def main() -> int:
    """Write or compare."""
    if "--check" in sys.argv:
        return 0 if TARGET.read_text() == page() else 1
    TARGET.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
