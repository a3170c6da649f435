"""`X509::…` and other commands for certificates, which rules hold as strings with one character per byte (DER)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from icontrol_emulator.config import pem
from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.interpreter import Do, Interpreter

VERDICTS = {
    0: "ok", 2: "unable to get issuer certificate", 3: "unable to get certificate CRL", 10: "certificate has expired",
    9: "certificate is not yet valid", 12: "CRL has expired", 18: "self signed certificate",
    19: "self signed certificate in certificate chain", 20: "unable to get local issuer certificate",
    21: "unable to verify the first certificate", 22: "certificate chain too long", 23: "certificate revoked",
}  # fmt: skip
"""OpenSSL's texts of its verification errors."""


def as_text(data: bytes) -> str:
    return data.decode("latin-1")


def _utf8(text: str) -> str:
    return as_text(text.encode())


def as_bytes(text: str) -> bytes:
    return text.encode("latin-1", "replace")


def _read(text: str) -> x509.Certificate:
    try:
        if text.startswith("-----BEGIN"):
            return pem.certificates(text)[0]
        return x509.load_der_x509_certificate(as_bytes(text))
    except (ValueError, pem.BadPem) as error:
        raise Failed("no certificate") from error


def _shown_by(show: Callable[[x509.Certificate], str]) -> Do:
    def do(tcl: Interpreter, words: list[str]) -> str:
        return show(_read(words[0]))

    return do


def _serial(certificate: x509.Certificate) -> str:
    number = certificate.serial_number
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big").hex(":")


def _hash(certificate: x509.Certificate) -> str:
    return hashlib.md5(certificate.public_bytes(serialization.Encoding.DER), usedforsecurity=False).hexdigest()


def _as_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _verdict(tcl: Interpreter, words: list[str]) -> str:
    return VERDICTS.get(int(words[0]), f"error number {words[0]}")


def _digest(name: str) -> Do:
    def do(tcl: Interpreter, words: list[str]) -> str:
        return as_text(hashlib.new(name, as_bytes(words[-1]), usedforsecurity=False).digest())

    return do


_FIELD = re.compile(r"([@aAHScI])(\d+|\*)?")
_SIZES = {"S": 2, "c": 1, "I": 4}


def _binary(tcl: Interpreter, words: list[str]) -> str:
    """`binary scan DATA FORM NAME...` and `binary format FORM VALUE...`, with `@`, `a`, `A`, `H`, `S`, `c` and `I`."""
    what, *rest = words
    if what == "scan":
        return _scanned(tcl, as_bytes(rest[0]), rest[1], rest[2:])
    if what != "format":
        raise Failed(f"binary {what} is not known here")
    values = iter(rest[1:])
    made = b""
    for kind, count in _FIELD.findall(rest[0]):
        if kind in _SIZES:
            made += (int(next(values)) % 256 ** _SIZES[kind]).to_bytes(_SIZES[kind], "big")
        elif kind == "H":
            made += bytes.fromhex(next(values))
        else:
            text = as_bytes(next(values))
            made += text if count == "*" else text[: int(count or 1)].ljust(int(count or 1), b"\0")
    return as_text(made)


def _scanned(tcl: Interpreter, data: bytes, form: str, names: list[str]) -> str:
    at, left = 0, list(names)
    for kind, count in _FIELD.findall(form):
        if kind == "@":
            at = int(count or 0)
            continue
        name = left.pop(0)
        if kind in _SIZES:
            size = _SIZES[kind]
            if at + size > len(data):
                break
            tcl.variables[name] = str(int.from_bytes(data[at : at + size], "big", signed=True))
            at += size
            continue
        end = len(data) if count == "*" else at + int(count or 1)
        piece = data[at:end]
        tcl.variables[name] = piece.hex() if kind == "H" else as_text(piece.rstrip(b" \0") if kind == "A" else piece)
        at = end
    return str(len(names) - len(left))


def _subject(tcl: Interpreter, words: list[str]) -> str:
    """The whole distinguished name, or the values of one attribute of it."""
    subject = _read(words[0]).subject
    if len(words) == 1:
        return _utf8(subject.rfc4514_string())
    if words[1] != "commonName":
        raise Failed(f"bad attribute {words[1]}")
    return _utf8(",".join(str(each.value) for each in subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)))


def _date(moment: datetime) -> str:
    """The date as OpenSSL prints it: `Jan 1 00:00:00 2026 GMT`."""
    return f"{moment:%b} {moment.day:2d} {moment:%H:%M:%S %Y} GMT"


COMMANDS: dict[str, Do] = {
    "X509::subject": _subject,
    "X509::issuer": _shown_by(lambda cert: _utf8(cert.issuer.rfc4514_string())),
    "X509::serial_number": _shown_by(_serial),
    "X509::hash": _shown_by(_hash),
    "X509::whole": _shown_by(_as_pem),
    "X509::version": _shown_by(lambda cert: str(cert.version.value)),
    "X509::not_valid_before": _shown_by(lambda cert: _date(cert.not_valid_before_utc)),
    "X509::not_valid_after": _shown_by(lambda cert: _date(cert.not_valid_after_utc)),
    "X509::verify_cert_error_string": _verdict,
    "md5": _digest("md5"), "sha1": _digest("sha1"), "sha256": _digest("sha256"), "sha512": _digest("sha512"),
    "b64encode": lambda tcl, words: base64.b64encode(as_bytes(words[0])).decode(),
    "b64decode": lambda tcl, words: as_text(base64.b64decode(words[0])),
    "binary": _binary,
}  # fmt: skip
