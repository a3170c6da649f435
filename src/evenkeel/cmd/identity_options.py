"""The controller's options of authentication, TLS of the API, and limits. oslo.policy and keystonemiddleware have their
own groups, ``[oslo_policy]`` and ``[keystone_authtoken]``.
"""

from oslo_config import cfg

KINDS = {
    "none": "nobody logs in, everybody is admin; on loopback only",
    "password_file": "HTTP basic against password_file",
    "trusted_headers": "a gateway's X-User-Id, X-Project-Id, X-Roles, from loopback or with a client certificate",
    "keystone": "Keystone v3 tokens, see [keystone_authtoken]",
}

IDENTITY = [
    cfg.StrOpt(
        "kind",
        default="none",
        choices=list(KINDS),
        help="Who calls: " + "; ".join(f"{name}: {meaning}" for name, meaning in KINDS.items()) + ".",
    ),
    cfg.StrOpt(
        "password_file",
        default="/etc/evenkeel/users",
        help="Users for kind = password_file, a line each, written by evenkeel-users; mode 0600, read when changed.",
    ),
    cfg.ListOpt(
        "gateway_names",
        default=[],
        help="For kind = trusted_headers: one of these must be a name in the gateway's client certificate; "
        "none given: any certificate by ssl_client_ca_file will do.",
    ),
]

API = [
    cfg.StrOpt("ssl_cert_file", help="Serve HTTPS with this certificate (PEM, with its chain)."),
    cfg.StrOpt("ssl_key_file", help="Its private key (PEM)."),
    cfg.StrOpt(
        "ssl_client_ca_file",
        help="Take only clients with a certificate by one of these authorities (PEM): mutual TLS.",
    ),
    cfg.FloatOpt(
        "rate_limit",
        default=50.0,
        min=0.0,
        help="Requests a second that each project may make to this controller in the long run; 0: no limit. "
        "More are answered with 429. Operators, and everybody where nobody logs in, have no limit.",
    ),
    cfg.IntOpt("rate_limit_burst", default=200, min=1, help="Requests that a project may make at once."),
    cfg.IntOpt("max_page_items", default=1000, min=1, max=10_000, help="Default and cap of a list's limit."),
]
"""In the group of :data:`evenkeel.cmd.options.API`."""
