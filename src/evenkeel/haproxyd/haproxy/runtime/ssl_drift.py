"""Drift of certificates: where a running HAProxy presents or trusts other certificates than configured. Pure.

Compares the fingerprints of certificates and CA certificates, and the lists of listeners' certificates. Intermediates
and revocation lists are not compared: the runtime API shows too little of them.
"""

import hashlib
import re
import ssl
from collections.abc import Iterator

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runtime.command import DriftFinding, NeedsReload
from evenkeel.haproxyd.haproxy.runtime.file_changes import list_entries, listed_certificate, ssl_changes

_SHOW_COMMAND_BY_KIND = {"certificate": "cert", "ca": "ca-file", "crt_list": "crt-list"}
_WORDS_BY_KIND = {"certificate": "certificate", "ca": "authority"}
# A possessive quantifier (`++`) excludes backtracking on long files.
_PEM_PATTERN = re.compile(r"-----BEGIN CERTIFICATE-----[^-]++-----END CERTIFICATE-----")
_FILE, _FINGERPRINT, _LIST = "Filename: ", "SHA1 FingerPrint: ", "# "


class LoadedCertificates(Value):
    """Certificates that a worker has loaded, by file name: SHA-1 fingerprints of a file's certificates, and
    in ``listed`` the names of the certificates in each crt-list.
    """

    fingerprints: dict[str, list[str]]
    listed: dict[str, list[str]]


def certificate_drift_commands(config: HaproxyConfig) -> tuple[str, ...]:
    """Return the commands that show the configured certificates, CA files and crt-lists, whose answers
    :func:`ssl_drift` evaluates.
    """
    files = (file for one in config.load_balancers.values() for file in one.files)
    return tuple(
        f"show ssl {_SHOW_COMMAND_BY_KIND[file.kind]} {file.name}"
        for file in files
        if file.kind in _SHOW_COMMAND_BY_KIND
    )


def parse_certificates(text: str) -> LoadedCertificates:
    """Parse the answers to :func:`certificate_drift_commands`; files that HAProxy has not loaded are left out."""
    seen = LoadedCertificates(fingerprints={}, listed={})
    prints: list[str] = []
    names: list[str] | None = None
    for line in text.splitlines():
        if line.startswith(_FILE):
            prints = seen.fingerprints.setdefault(line.removeprefix(_FILE).strip(), [])
        elif line.startswith(_FINGERPRINT):
            prints.append(line.removeprefix(_FINGERPRINT).strip())
        elif line.startswith(_LIST):
            names = seen.listed.setdefault(line.removeprefix(_LIST).strip(), [])
        # An empty line ends the answer to one command.
        elif not line.strip():
            names = None
        elif names is not None:
            names.append(listed_certificate(line))
    return seen


def ssl_drift(config: HaproxyConfig, text: str) -> tuple[DriftFinding, ...]:
    """Find certificates that differ from the configuration in ``text``, the answers to
    :func:`certificate_drift_commands`; empty: none.

    Raises :class:`NeedsReload` if a listed certificate is missing, a CA file or crt-list differs, or no
    command can restore a certificate.
    """
    seen = parse_certificates(text)
    return tuple(finding for one in config.load_balancers.values() for finding in _certificate_findings(one, seen))


def certificate_fingerprints(content: str) -> list[str]:
    """Return the SHA-1 fingerprints of all certificates in a PEM file, in HAProxy's notation (hexadecimal
    capitals); empty if they cannot be parsed.
    """
    try:
        found = [ssl.PEM_cert_to_DER_cert(text) for text in _PEM_PATTERN.findall(content)]
    except ValueError:
        return []
    return [hashlib.sha1(der, usedforsecurity=False).hexdigest().upper() for der in found]


def _certificate_findings(
    load_balancer: wire.LoadBalancerConfig, loaded_certificates: LoadedCertificates
) -> Iterator[DriftFinding]:
    listed: set[str] = set()
    for file in load_balancer.files:
        if file.kind == "crt_list" and file.name in loaded_certificates.listed:
            names = list(map(listed_certificate, list_entries(file.content)))
            if loaded_certificates.listed[file.name] != names:
                raise NeedsReload(f"list {file.name} was changed", load_balancer.id)
            listed.update(names)
    for file in load_balancer.files:
        if file.kind in _WORDS_BY_KIND:
            yield from _file_findings(
                load_balancer.id, file, loaded_certificates.fingerprints.get(file.name), is_required=file.name in listed
            )


def _file_findings(
    load_balancer_id: str, file: wire.File, loaded_fingerprints: list[str] | None, *, is_required: bool
) -> Iterator[DriftFinding]:
    if loaded_fingerprints is None:  # unless it is required, no configuration line refers to the file
        if is_required:
            raise NeedsReload(f"{_WORDS_BY_KIND[file.kind]} {file.name} is not there", load_balancer_id)
        return
    wanted = certificate_fingerprints(file.content)
    # HAProxy shows the fingerprint of only the first certificate of a certificate file, and of all of a CA file.
    if not wanted or set(loaded_fingerprints) == set(wanted if file.kind == "ca" else wanted[:1]):
        return
    text = f"{_WORDS_BY_KIND[file.kind]} {file.name} was changed"
    if file.kind == "ca":  # a runtime repair is not reliable here: see Binary.supports_ca_at_runtime
        raise NeedsReload(text, load_balancer_id)
    try:
        commands = tuple(ssl_changes(file))
    except NeedsReload as reason:
        raise NeedsReload(str(reason), load_balancer_id) from reason
    yield from (DriftFinding(load_balancer_id=load_balancer_id, text=text, command=command) for command in commands)
