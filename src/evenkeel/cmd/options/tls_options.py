"""The controllers' options of allowed TLS versions and ciphers: names and meanings are Octavia's."""

from oslo_config import cfg

from evenkeel.core.tls.tls import NEWEST_TLS_VERSION, TLS_VERSIONS, TlsRules

API_TLS_OPTIONS = [
    cfg.StrOpt(
        "minimum_tls_version",
        choices=TLS_VERSIONS,
        help="Oldest TLS version allowed for listeners and pools; unset: any.",
    ),
    cfg.StrOpt(
        "tls_cipher_prohibit_list",
        default="",
        help="OpenSSL names of ciphers, separated by colons, refused for listeners and pools and left out of the "
        "defaults.",
    ),
]


def tls_rules(conf: cfg.ConfigOpts) -> TlsRules:
    """Read the TLS rules of ``[api_settings]``. Raises :class:`ValueError` if they forbid every default."""
    names = frozenset(filter(None, (name.strip() for name in conf.api_settings.tls_cipher_prohibit_list.split(":"))))
    rules = TlsRules(minimum_version=conf.api_settings.minimum_tls_version, prohibited_ciphers=names)
    if not rules.default_ciphers:
        raise ValueError("api_settings.tls_cipher_prohibit_list: it prohibits all ciphers that are the default")
    if not rules.default_versions:
        raise ValueError(
            f"api_settings.tls_cipher_prohibit_list: it prohibits all ciphers of {NEWEST_TLS_VERSION}, which "
            "minimum_tls_version demands"
        )
    return rules
