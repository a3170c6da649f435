"""TLS of the servers whose certificate is named by ``ssl_cert_file``, ``ssl_key_file`` and ``ssl_client_ca_file``."""

import ssl

from oslo_config import cfg

API_CERTIFICATE_OPTIONS = ("api.ssl_cert_file", "api.ssl_key_file", "api.ssl_client_ca_file")


def api_tls_context(conf: cfg.ConfigOpts) -> ssl.SSLContext | None:
    """Load the API's TLS context; None: plain HTTP. Raises :class:`ValueError` like :func:`server_tls_context`."""
    return server_tls_context("api", conf.api.ssl_cert_file, conf.api.ssl_key_file, conf.api.ssl_client_ca_file)


def server_tls_context(
    section: str, certificate: str | None, key: str | None, authorities: str | None
) -> ssl.SSLContext | None:
    """Load a TLS context, TLS 1.2 and newer, with the certificate that the options of ``section`` name; None: plain
    HTTP. Raises :class:`ValueError` if the certificate is not named but other files are, or a file cannot be loaded.
    """
    if not certificate:
        if key or authorities:
            raise ValueError(f"{section}.ssl_cert_file: it is needed with ssl_key_file and ssl_client_ca_file")
        return None
    # Since version 3.10, Python's default for this protocol is TLS 1.2 and newer.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
        if authorities:
            context.load_verify_locations(authorities)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:  # ssl.SSLError is one
        raise ValueError(f"{section}.ssl_cert_file, ssl_key_file, ssl_client_ca_file: {error}") from error
    return context
