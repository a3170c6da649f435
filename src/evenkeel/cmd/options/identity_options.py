"""The controller's options of authentication, TLS of the API, and limits. oslo.policy and keystonemiddleware have their
own groups, ``[oslo_policy]`` and ``[keystone_authtoken]``.
"""

from oslo_config import cfg

AUTHENTICATION_KINDS = {
    "none": "every caller is admin; on loopback only",
    "password_file": "HTTP basic authentication with password_file",
    "trusted_headers": "a gateway's X-User-Id, X-Project-Id, X-Roles, from loopback or with a client certificate",
    "keystone": "Keystone v3 tokens, see [keystone_authtoken]",
}

IDENTITY_OPTIONS = [
    cfg.StrOpt(
        "kind",
        default="none",
        choices=list(AUTHENTICATION_KINDS),
        help="Authentication. "
        + "; ".join(f"{name}: {meaning}" for name, meaning in AUTHENTICATION_KINDS.items())
        + ".",
    ),
    cfg.StrOpt(
        "password_file",
        default="/etc/evenkeel/users",
        help="Users for kind = password_file, one a line, written by evenkeel-users; mode 0600, reloaded if changed.",
    ),
    cfg.ListOpt(
        "gateway_names",
        default=[],
        help="For kind = trusted_headers: names of which the gateway's client certificate must have one; empty: "
        "any certificate signed by ssl_client_ca_file.",
    ),
]

API_AUTHENTICATION_OPTIONS = [
    cfg.StrOpt("ssl_cert_file", help="Serve HTTPS with this certificate (PEM, with its chain)."),
    cfg.StrOpt("ssl_key_file", help="Its private key (PEM)."),
    cfg.StrOpt(
        "ssl_client_ca_file",
        help="Accept only clients with a certificate of one of these CAs (PEM): mutual TLS.",
    ),
    cfg.FloatOpt(
        "rate_limit",
        default=50.0,
        min=0.0,
        help="Average requests per second of each project at this controller; more are answered with 429. 0: no "
        "limit. Operators, and callers without authentication, have none.",
    ),
    cfg.IntOpt("rate_limit_burst", default=200, min=1, help="Burst of a project's rate limit, requests."),
    cfg.IntOpt(
        "max_page_items", default=1000, min=1, max=10_000, help="Default and maximum of a list request's limit."
    ),
]
"""Options of section ``[api]``, beside :data:`evenkeel.cmd.options.options.API_OPTIONS`."""
