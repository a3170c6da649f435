"""Cipher strings in BIG-IP syntax, such as `DEFAULT:!3DES` or `ECDHE+AES-GCM:ECDHE_ECDSA`.

A string selects from suites, each listed once for every protocol version that supports it. Later words modify the
selection: `!` excludes permanently, `-` removes, `+` moves to the end. The words are BIG-IP's, not OpenSSL's: `ECDHE`
and `RSA` are key exchanges with an RSA certificate, `ECDHE_ECDSA` with an ECDSA certificate. The built-in rules of
14.1.2.1 are from a listing in CiscoTestAutomation/genieparser.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

from icontrol_emulator.config.schema import names

TLS1, TLS1_1, TLS1_2, TLS1_3 = "TLSV1", "TLSV1_1", "TLSV1_2", "TLSV1_3"
VERSIONS = (TLS1, TLS1_1, TLS1_2, TLS1_3)
LENGTH_MAX = 4096


class BadWord(Exception):
    """The word is not one that a BIG-IP has."""


@dataclass(frozen=True, slots=True)
class Suite:
    name: str
    """The suite's name in OpenSSL."""
    tags: frozenset[str]
    by_default: bool
    versions: tuple[str, ...]


class Choice(NamedTuple):
    suite: Suite
    version: str

    def has(self, word: str) -> bool:
        return word in self.suite.tags or word == self.version or _spelled(word) == self.suite.name.upper()


def _suite(name: str, tags: str, *versions: str, by_default: bool = True) -> Suite:
    return Suite(name, names(f"{tags} ALL NATIVE"), by_default, versions)


def _families() -> list[Suite]:
    suites = []
    for prefix, exchange, by_default in (
        ("ECDHE-RSA-", "ECDHE", True),
        ("ECDHE-ECDSA-", "ECDHE_ECDSA ECDSA", True),
        ("", "RSA", True),
        ("DHE-RSA-", "DHE EDH", False),
    ):
        for bits, digest in ((128, "SHA256"), (256, "SHA384")):
            cbc = "SHA256" if not exchange.startswith("ECDHE") else digest
            aes = f"{exchange} AES AES{bits} HIGH"
            suites += [
                _suite(f"{prefix}AES{bits}-GCM-{digest}", f"{aes} AES-GCM GCM {digest}", TLS1_2, by_default=by_default),
                _suite(f"{prefix}AES{bits}-SHA", f"{aes} CBC SHA", TLS1, TLS1_1, TLS1_2, by_default=by_default),
                _suite(f"{prefix}AES{bits}-{cbc}", f"{aes} CBC {cbc}", TLS1_2, by_default=by_default),
            ]
        if prefix:
            chacha = f"{exchange} CHACHA20-POLY1305 HIGH SHA256"
            suites.append(_suite(f"{prefix}CHACHA20-POLY1305", chacha, TLS1_2, by_default=by_default))
    return suites


def _older_and_tls13_suites() -> list[Suite]:
    old = (TLS1, TLS1_1, TLS1_2)
    suites = [_suite(f"CAMELLIA{bits}-SHA", "RSA CAMELLIA HIGH SHA CBC", *old) for bits in (128, 256)]
    for prefix, exchange in (("", "RSA"), ("ECDHE-RSA-", "ECDHE"), ("DHE-RSA-", "DHE EDH")):
        tags = f"{exchange} 3DES DES MEDIUM SHA CBC"
        suites.append(_suite(f"{prefix}DES-CBC3-SHA", tags, *old, by_default=False))
    newest = (("TLS_AES_128_GCM_SHA256", "AES AES128 AES-GCM GCM SHA256 TLS13-AES128-GCM-SHA256"),
              ("TLS_AES_256_GCM_SHA384", "AES AES256 AES-GCM GCM SHA384 TLS13-AES256-GCM-SHA384"),
              ("TLS_CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305 SHA256 TLS13-CHACHA20-POLY1305-SHA256"))  # fmt: skip
    return [*suites, *(_suite(name, f"{tags} HIGH", TLS1_3) for name, tags in newest)]


SUITES = (*_families(), *_older_and_tls13_suites())
ORDER = tuple(Choice(suite, version) for suite in SUITES for version in suite.versions)
KNOWN = frozenset(word for suite in SUITES for word in suite.tags) | frozenset(VERSIONS)
SILENT = names("RC4 MD5 EXP EXPORT LOW ADH SSLV2 SSLV3 DTLSV1 DTLSV1_2 COMPAT SEED NULL ECDH ECDH_ECDSA DSS DHE_DSS")
"""Words that BIG-IP accepts but that select no suite here."""


def _spelled(word: str) -> str:
    """OpenSSL's name from BIG-IP's name of a suite: `…-AES128-CBC-SHA`, `…-CHACHA20-POLY1305-SHA256`."""
    return word.replace("-CBC-SHA", "-SHA").replace("-POLY1305-SHA256", "-POLY1305")


_SUITE_NAMES = frozenset(suite.name.upper() for suite in SUITES)


def _matching(word: str) -> list[Choice]:
    if word == "DEFAULT":
        return [choice for choice in ORDER if choice.suite.by_default]
    parts = word.split("+")
    for part in parts:
        if part not in KNOWN | SILENT and _spelled(part) not in _SUITE_NAMES and "RC4" not in part:
            raise BadWord(part)
    return [choice for choice in ORDER if all(choice.has(part) for part in parts)]


@functools.lru_cache(maxsize=1024)
def choices(text: str) -> tuple[Choice, ...]:
    """The selected suites in order of preference; empty if none is left. Raises `BadWord`."""
    if len(text) > LENGTH_MAX:
        raise BadWord(text[:20])
    chosen: list[Choice] = []
    barred: set[Choice] = set()
    for raw in text.replace(",", ":").replace(" ", ":").upper().split(":"):
        sign, word = (raw[0], raw[1:]) if raw[:1] in ("!", "-", "+") else ("", raw)
        if not word or word.startswith("@"):
            continue
        found = _matching(word)
        if sign == "+":
            chosen = [each for each in chosen if each not in found] + [each for each in chosen if each in found]
        elif sign:
            chosen = [each for each in chosen if each not in found]
            barred |= set(found) if sign == "!" else set()
        else:
            chosen += [each for each in found if each not in chosen and each not in barred]
    return tuple(chosen)


BUILT_IN_RULES = {
    "f5-aes": ("AES-GCM:AES", "Cipher suites that use the AES cipher."),
    "f5-default": ("DEFAULT", "The recommended default cipher suites."),
    "f5-ecc": (
        "ECDHE:ECDHE_ECDSA",
        "Cipher suites that utilize Elliptical Curve Ephemeral Diffie-Hellman key exchange.",
    ),
    "f5-secure": (
        "ECDHE:RSA:ECDHE_ECDSA:!SSLV3:!RC4:!EXP:!DES:!3DES",
        "Cipher suites that maximize regulatory compliance.",
    ),
}
