"""A TLS ClientHello as the send string of a tcp monitor: for checks of type TLS-HELLO. Pure.

A BIG-IP has no monitor that checks a handshake only: since TMOS 10.1 an https monitor also requires an answer to HTTP.
A tcp monitor sends and expects bytes in the notation ``\\xNN``. A TLS server answers the hello with a handshake record
(ServerHello or HelloRetryRequest); an alert or anything else is no such record. The hello offers TLS 1.0 to 1.3 and
usual ciphers, and no name.
"""

EXPECTED_ANSWER = "\\x16\\x03"
"""Expected answer: the beginning of a TLS handshake record, of any version."""
_RANDOM = b"evenkeel checks that TLS answers"
_CIPHERS = (
    *(0x1301, 0x1302, 0x1303),  # TLS 1.3
    *(0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8, 0xC009, 0xC013, 0xC00A, 0xC014),  # ECDHE
    *(0x009E, 0x009F, 0x0033, 0x0039),  # DHE
    *(0x009C, 0x009D, 0x003C, 0x003D, 0x002F, 0x0035, 0x000A),  # RSA
)
_GROUPS = (0x001D, 0x0017, 0x0018, 0x0019, 0x0100)
_SIGNATURES = (0x0403, 0x0503, 0x0603, 0x0807, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0203, 0x0201)
_VERSIONS = (0x0304, 0x0303, 0x0302, 0x0301)


def client_hello() -> bytes:
    """Build the handshake record, always the same (RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2)."""
    extensions = b"".join(
        _append_sized_content(number.to_bytes(2), content, 2)
        for number, content in (
            (10, _append_sized_content(b"", _encode_uint16_list(_GROUPS), 2)),  # supported_groups
            (11, b"\x01\x00"),  # ec_point_formats: uncompressed
            (13, _append_sized_content(b"", _encode_uint16_list(_SIGNATURES), 2)),  # signature_algorithms
            (43, _append_sized_content(b"", _encode_uint16_list(_VERSIONS), 1)),  # supported_versions
            (51, b"\x00\x00"),  # key_share: none, so that a TLS 1.3 server requests one
        )
    )
    body = (
        b"\x03\x03"
        + _RANDOM
        + b"\x00"
        + _append_sized_content(b"", _encode_uint16_list(_CIPHERS), 2)
        + b"\x01\x00"
        + _append_sized_content(b"", extensions, 2)
    )
    return _append_sized_content(b"\x16\x03\x01", _append_sized_content(b"\x01", body, 3), 2)


def _append_sized_content(before: bytes, content: bytes, size_bytes: int) -> bytes:
    return before + len(content).to_bytes(size_bytes) + content


def _encode_uint16_list(values: tuple[int, ...]) -> bytes:
    return b"".join(value.to_bytes(2) for value in values)


def encode_for_monitor_string(data: bytes) -> str:
    r"""Write bytes in the notation of a monitor's send string, ``\xNN``."""
    return "".join(f"\\x{byte:02x}" for byte in data)
