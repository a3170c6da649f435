"""The section ``[acme]``: certificates that the controllers request from an authority."""

from oslo_config import cfg

SECTION = "acme"
ACME = [
    cfg.StrOpt(
        "directory_url",
        default="",
        help="ACME directory of the certificate authority, https://…; empty: certificates cannot be requested. With "
        "it, controllers agree to the authority's terms of service.",
    ),
    cfg.StrOpt("contact", default="", help="E-mail address of the account at the authority; empty: none."),
    cfg.StrOpt(
        "ssl_ca_crt_file",
        help="CA certificates (PEM) that verify the authority's own HTTPS server; default: the system's.",
    ),
    cfg.ListOpt(
        "name_servers",
        default=[],
        help="Addresses of the name servers that resolve requested names, each with an optional port; they should "
        "answer as the authority's do. Default: the host's.",
    ),
    cfg.FloatOpt("timeout", default=10.0, min=1.0, max=60.0, help="Time-out of a request to the authority, seconds."),
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
