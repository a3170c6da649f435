"""Sections ``[dns:NAME]``: DNS zones in which controllers prove names to certificate authorities by dns-01."""

from collections.abc import Iterable

from oslo_config import cfg

from evenkeel.cmd.options.section_names import NAME_RULE_TEXT, section_name, sections_of_kind

SECTION_PREFIX = "dns:"
RFC2136_TYPE = "rfc2136"
DESIGNATE_TYPE = "designate"

DNS_ZONE_OPTIONS = [
    cfg.StrOpt("zone", default="", help="Name of the zone, such as example.org."),
    cfg.ListOpt(
        "projects",
        default=[],
        help="Ids of the projects that may request certificates for names of the zone, also wildcards, without any "
        "other proof. A zone below this one with a section of its own is not part of it.",
    ),
    cfg.StrOpt(
        "type",
        default=RFC2136_TYPE,
        choices=[RFC2136_TYPE, DESIGNATE_TYPE],
        help="How the zone is changed: rfc2136 (dynamic updates of its primary name server), or designate (OpenStack's "
        "DNS service).",
    ),
    cfg.StrOpt(
        "cloud",
        default="",
        help="For type = designate: name of the cloud in clouds.yaml, with a login for the project that has the zone.",
    ),
    cfg.StrOpt(
        "clouds_file",
        help="For type = designate: the clouds.yaml; default: where openstacksdk looks for it.",
    ),
    cfg.StrOpt(
        "server",
        default="",
        help="For type = rfc2136: address of the zone's primary name server, with an optional port, which takes "
        "dynamic updates (RFC 2136) by TCP.",
    ),
    cfg.StrOpt(
        "tsig_key_file",
        help="For type = rfc2136: file with the TSIG key of the updates, as tsig-keygen writes it. Only its owner may "
        "have access.",
    ),
    cfg.ListOpt(
        "name_servers",
        default=[],
        help="For type = rfc2136: addresses of the zone's authoritative name servers, each with an optional port, that "
        "have to answer with a record before the authority is told; default: those that the zone's NS records name.",
    ),
    cfg.FloatOpt(
        "timeout",
        default=5.0,
        min=0.5,
        max=30.0,
        help="Time-out of a message to a name server, or of a request to Designate, seconds.",
    ),
]
"""Options of the sections ``[dns:NAME]``."""


def zone_sections(sections: Iterable[str]) -> list[str]:
    """Return the names of those ``sections`` that configure DNS zones, in lower case."""
    return sections_of_kind(SECTION_PREFIX, sections)


def check_zone_section(section: str) -> None:
    """Raise :class:`ValueError` unless the section has a valid name."""
    if section_name(section, SECTION_PREFIX) is None:
        raise ValueError(f"{section}: the name after {SECTION_PREFIX} should be {NAME_RULE_TEXT}")
