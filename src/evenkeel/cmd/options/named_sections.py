"""Sections ``[KIND:NAME]`` of controllers, of which there may be any number: authorities and DNS zones."""

from collections.abc import Iterable, Mapping, Sequence

from oslo_config import cfg

from evenkeel.cmd.options import acme_options, dns_options


def named_options(sections: Iterable[str]) -> Mapping[str | None, Sequence[cfg.Opt]]:
    """Return the options of those ``sections`` that configure authorities or DNS zones, by section in lower case."""
    written = tuple(sections)
    found: dict[str | None, Sequence[cfg.Opt]] = {}
    for section in acme_options.authority_sections(written):
        found[section] = acme_options.NAMED_AUTHORITY_OPTIONS
    for section in dns_options.zone_sections(written):
        found[section] = dns_options.DNS_ZONE_OPTIONS
    return found
