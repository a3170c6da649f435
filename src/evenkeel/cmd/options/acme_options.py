"""The section ``[acme]``: certificates that the controllers request from authorities. Sections ``[acme:NAME]`` name
further authorities.
"""

from collections.abc import Iterable

from oslo_config import cfg

from evenkeel.cmd.options.section_names import NAME_RULE_TEXT, section_name, sections_of_kind

ACME_SECTION = "acme"
SECTION_PREFIX = f"{ACME_SECTION}:"

_AUTHORITY_OPTIONS = [
    cfg.StrOpt("contact", default="", help="E-mail address of the account at the authority; empty: none."),
    cfg.StrOpt(
        "ssl_ca_crt_file",
        help="CA certificates (PEM) that verify the authority's own HTTPS server; default: the system's.",
    ),
    cfg.StrOpt(
        "eab_key_id",
        default="",
        help="For External Account Binding: the key identifier that the authority gave; empty: none.",
    ),
    cfg.StrOpt(
        "eab_key_file",
        help="For External Account Binding: file with the HMAC key in base64url, as the authority gave it. Only its "
        "owner may have access.",
    ),
    cfg.ListOpt(
        "caa_identities",
        default=[],
        help="Domain names that stand for the authority in CAA records, which are looked at before an order; default: "
        "those that its directory states, and without any nothing is looked at.",
    ),
]
ACME_OPTIONS = [
    cfg.StrOpt(
        "directory_url",
        default="",
        help="ACME directory of the default certificate authority, https://…; empty: there is none. With it, "
        "controllers agree to the authority's terms of service. Sections [acme:NAME] name further authorities.",
    ),
    *_AUTHORITY_OPTIONS,
    cfg.ListOpt(
        "name_servers",
        default=[],
        help="Addresses of the name servers that resolve requested names, each with an optional port; they should "
        "answer as the authority's do. Default: the host's.",
    ),
    cfg.FloatOpt("timeout", default=10.0, min=1.0, max=60.0, help="Time-out of a request to an authority, seconds."),
    cfg.FloatOpt(
        "name_server_timeout", default=5.0, min=0.5, max=30.0, help="Time-out of the resolution of a name, seconds."
    ),
    cfg.FloatOpt(
        "step_timeout",
        default=120.0,
        min=5.0,
        max=3600.0,
        help="Time after which another controller continues an order whose controller has died, seconds.",
    ),
    cfg.IntOpt("names_per_certificate", default=20, min=1, max=100, help="Maximum number of names of a certificate."),
    cfg.IntOpt(
        "orders_at_once",
        default=50,
        min=1,
        max=1000,
        help="Number of open orders of all controllers above which "
        "further ones wait; four steps of each controller at the same time may exceed it.",
    ),
    cfg.IntOpt(
        "certificates_per_project", default=100, min=1, help="Maximum number of requested certificates of a project."
    ),
]
NAMED_AUTHORITY_OPTIONS = [
    cfg.StrOpt(
        "directory_url",
        default="",
        help="ACME directory of this certificate authority, https://…. With it, controllers agree to the authority's "
        "terms of service.",
    ),
    *_AUTHORITY_OPTIONS,
    cfg.ListOpt(
        "projects",
        default=[],
        help="Ids of the projects whose default authority this is; no others may use it. Default: any project that "
        "requests a certificate from it by its name.",
    ),
]
"""Options of the sections ``[acme:NAME]``."""


def authority_sections(sections: Iterable[str]) -> list[str]:
    """Return the names of those ``sections`` that configure named authorities, in lower case."""
    return sections_of_kind(SECTION_PREFIX, sections)


def authority_name(section: str) -> str:
    """Return the name of the authority that a section ``[acme:NAME]`` configures. Raises :class:`ValueError` for a name
    that is not allowed.
    """
    name = section_name(section, SECTION_PREFIX)
    if name is None or name == "default":
        raise ValueError(
            f"{section}: the name after {SECTION_PREFIX} should be {NAME_RULE_TEXT}, and not default, which is [acme]"
        )
    return name
