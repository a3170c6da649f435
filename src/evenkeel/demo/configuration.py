"""The ini files of a cluster's processes. Pure."""

from collections.abc import Mapping

Sections = Mapping[str, Mapping[str, object]]

NO_QUOTAS: Sections = {
    "quotas": {
        f"default_{kind}_quota": -1
        for kind in ("load_balancer", "listener", "pool", "member", "health_monitor", "l7policy", "l7rule")
    }
}
"""Unlimited quotas, for controllers with a single project."""


def format_ini(sections: Sections) -> str:
    """Format ``sections`` as an ini file for oslo.config; options with None are left out, sequences become lists."""
    parts = []
    for title, options in sections.items():
        lines = [f"{name} = {_value_text(value)}" for name, value in options.items() if value is not None]
        parts.append("\n".join([f"[{title}]", *lines]) + "\n")
    return "\n".join(parts)


def merge_sections(*layers: Sections) -> dict[str, dict[str, object]]:
    """Merge the sections of all layers; of an option that several layers set, the last one counts."""
    result: dict[str, dict[str, object]] = {}
    for layer in layers:
        for title, options in layer.items():
            result.setdefault(title, {}).update(options)
    return result


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(_value_text(item) for item in value)
    return str(value).replace("$", "$$")  # oslo.config substitutes $name
