"""The TLS side of talking to devices: whom they are believed to be."""

import ssl


def device_context(*, ca_file: str = "", verify: bool = True) -> ssl.SSLContext:
    """What every connection to a device of the group uses; the system's authorities without a ``ca_file``.

    Reads ``ca_file``; raises :class:`ValueError` naming it if it cannot be used, because no waiting mends that.
    """
    if not verify:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except ssl.SSLError as error:
        raise ValueError(f"ca_file: {ca_file}: no certificate in PEM form in it") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(f"ca_file: {ca_file}: cannot be read: {reason}") from error
