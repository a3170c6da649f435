"""Options of ``[metrics]``: shared by controllers, agents and the daemon, and options of controllers only."""

from oslo_config import cfg

METRICS_OPTIONS = [
    cfg.HostAddressOpt(
        "bind_host",
        default="127.0.0.1",
        help="Address that serves /metrics for Prometheus, without login.",
    ),
    cfg.PortOpt("bind_port", default=0, help="Port that serves /metrics; 0: none."),
    cfg.StrOpt("ssl_cert_file", help="Serve HTTPS with this certificate (PEM, with its chain)."),
    cfg.StrOpt("ssl_key_file", help="Its private key (PEM)."),
    cfg.StrOpt(
        "ssl_client_ca_file",
        help="Accept only clients with a certificate of one of these CAs (PEM): mutual TLS.",
    ),
]

CONTROLLER_METRICS_OPTIONS = [
    *METRICS_OPTIONS,
    cfg.IntOpt(
        "load_balancers_max",
        default=0,
        min=0,
        max=100_000,
        help="Load balancers with metrics of their own (seven series each), the oldest. 0: none.",
    ),
]
