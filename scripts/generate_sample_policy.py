"""Writes docs/reference/policy.yaml.sample from the rules in the code and the routes that name them; ``--check`` only
compares."""

import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from evenkeel.api.app import ROUTES
from evenkeel.api.policy.defaults import default_rules

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "policy.yaml.sample"
HEAD = """# Even Keel's policy. Every rule stands here as it is without a policy file; take the # away from those
# to change. Named by policy_file in [oslo_policy]; controllers read it again when it changes. This sample is made from
# the code by scripts/generate_sample_policy.py.
"""


def requests() -> dict[str, list[str]]:
    """The requests that each rule decides."""
    found: dict[str, list[str]] = defaultdict(list)
    for route_map in ROUTES:
        for operation in route_map.operations:
            found[operation.rule].append(f"{operation.method} {route_map.prefixes[0]}{operation.path}")
    return found


def entries() -> Iterator[str]:
    """One for each rule."""
    known = requests()
    for rule in default_rules():
        lines = textwrap.wrap(rule.description or "", 116) + list(dict.fromkeys(known.get(rule.name, ())))
        yield "".join(f"\n# {line}" for line in lines) + f'\n#"{rule.name}": "{rule.check_str}"\n'


def main() -> int:
    """Write or compare."""
    page = HEAD + "".join(entries())
    if "--check" in sys.argv:
        return 0 if TARGET.read_text() == page else 1
    TARGET.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
