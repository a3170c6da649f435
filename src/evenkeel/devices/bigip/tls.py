"""The TLS side of talking to BIG-IPs."""

import ssl

from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.tls import device_context


def client_context(options: BigIpOptions) -> ssl.SSLContext:
    """What every connection to a device of the group uses. Raises :class:`ValueError` naming ``ca_file``."""
    return device_context(ca_file=options.ca_file, verify=options.verify_tls)
