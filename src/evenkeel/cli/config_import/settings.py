"""Values of options as the agent and Neutron got them from oslo.config: references resolved, ``None`` unset. Pure."""

import re
from collections.abc import Iterator

from evenkeel.cli.config_import.ini_reading import DEFAULT_SECTION, Sections

UNSET_VALUES = ("", "none", "<none>")
"""Values, in lower case, that mean an unset option in F5's and Neutron's example files."""
TRUE_VALUES = ("true", "1", "yes", "on")
FALSE_VALUES = ("false", "0", "no", "off")
_REFERENCE_PATTERN = re.compile(r"\$(?:(\$)|\{([A-Za-z_][\w.]*)\}|([A-Za-z_][\w.]*))")
REFERENCES_MAX = 8
"""Maximum depth of references from one option to the next, so that circular ones end."""


class SourceSettings:
    """Options of the files that a process read together. Section names are compared without case.

    ``used`` collects (section in lower case, option) of options that were read and are in a file;
    ``problems`` has, by option, texts about values that cannot be resolved, without the values.
    """

    def __init__(self, files: Sections) -> None:
        self._values: dict[str, dict[str, list[str]]] = {}
        for section, options in files.items():
            self._values.setdefault(section.lower(), {}).update({name: list(one) for name, one in options.items()})
        self.used: set[tuple[str, str]] = set()
        self.problems: dict[str, str] = {}

    def value(self, section: str, option: str) -> str:
        """Return the option's last value; empty if it is unset or cannot be resolved."""
        return next(iter(self.values(section, option)[-1:]), "")

    def values(self, section: str, option: str) -> list[str]:
        """Return all values of an option that may be given several times, without those that are unset or
        cannot be resolved. Records the option in ``used``.
        """
        raw = self._values.get(section.lower(), {}).get(option, [])
        found = [
            value
            for one in raw
            if one.lower() not in UNSET_VALUES and (value := self._resolve_references(section, option, one))
        ]
        if raw:
            self.used.add((section.lower(), option))
        return found

    def flag(self, section: str, option: str) -> bool:
        """Whether the option is true; false if it is unset or no truth value."""
        return self.value(section, option).lower() in TRUE_VALUES

    def names(self, section: str) -> tuple[str, ...]:
        """Return the names of the section's options; empty for an unknown section."""
        return tuple(self._values.get(section.lower(), {}))

    def options(self) -> Iterator[tuple[str, str]]:
        """Yield section, in lower case, and name of every option."""
        for section, options in self._values.items():
            for name in options:
                yield section, name

    def _resolve_references(self, section: str, option: str, text: str, depth: int = 0) -> str:
        """Return the text with ``$option`` and ``${section.option}`` replaced by values; empty if one of
        these options has no value, or references are nested too deeply. A reference without a value is
        recorded as a problem of ``option``.
        """
        failed = False

        def replacement(match: re.Match[str]) -> str:
            nonlocal failed
            if match[1]:
                return "$"
            # A full stop at the end belongs to the text.
            name, stop = (match[2], "") if match[2] else (match[3].rstrip("."), "." * match[3].endswith("."))
            raw = self._referenced_value(section, name)
            if raw is None or depth >= REFERENCES_MAX:
                failed = True
                return ""
            return self._resolve_references(section, option, raw, depth + 1) + stop

        found = _REFERENCE_PATTERN.sub(replacement, text.replace("\\$", "$$"))
        if failed:
            reason = "a $ refers to an option that no file has; write its value, or $$ for a $"
            self.problems.setdefault(option, f"{option}: {reason}")
            return ""
        return found

    def _referenced_value(self, section: str, name: str) -> str | None:
        group, _, option = name.rpartition(".")
        for place in (group,) if group else (section, DEFAULT_SECTION):
            if found := self._values.get(place.lower(), {}).get(option):
                return found[-1]
        return None
