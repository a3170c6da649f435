"""Certificate files as tools export them, made with ``openssl``: certbot, step, Windows, keys of every format.

Each layout is what a person would upload: a main file, and possibly a key, intermediates and a passphrase.
"""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.key_managers.authority import INTERMEDIATE, ROOT, STRANGER, Issued, ec_key

WORD = "layout-word"
HOST = "www.example.org"
SITE = Issued(HOST, INTERMEDIATE, ec_key(), names=(HOST,))
"""The server's certificate. Its key is in files of its own, so it is none of those that no file may have."""
LEGACY = ("-legacy", "-certpbe", "PBE-SHA1-RC2-40", "-keypbe", "PBE-SHA1-3DES", "-macalg", "sha1")
"""How Windows exported until 2016 and OpenSSL before 3.0."""


class Layout(NamedTuple):
    """Files of one export, and parts of the warnings that name what is odd."""

    main: bytes
    key: bytes | None = None
    intermediates: bytes = b""
    passphrase: bytes | None = None
    told: tuple[str, ...] = ()


class Maker:
    """Makes files with ``openssl`` in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name, content in {
            "leaf.crt": SITE.pem,
            "chain.crt": INTERMEDIATE.pem + ROOT.pem,
            "other.crt": INTERMEDIATE.pem + STRANGER.pem,
            "leaf.key": SITE.key_pem(),
        }.items():
            (folder / name).write_bytes(content)

    def openssl(self, *words: str) -> bytes:
        """Output of the command, run in the folder."""
        done = subprocess.run(["openssl", *words], cwd=self._folder, capture_output=True, check=True, timeout=60)
        return done.stdout

    def pkcs12(self, *words: str, chain: str = "chain.crt") -> bytes:
        files = "-in", "leaf.crt", "-inkey", "leaf.key", "-certfile", chain
        return self.openssl("pkcs12", "-export", *files, "-passout", f"pass:{WORD}", *words)

    def extracted(self, *words: str) -> bytes:
        """A PKCS#12 file in PEM, with bag attributes."""
        (self._folder / "one.p12").write_bytes(self.pkcs12("-name", "www: the site", "-CSP", "Microsoft CSP"))
        return self.openssl("pkcs12", "-in", "one.p12", "-passin", f"pass:{WORD}", *words)


def _certbot(_: Maker) -> Layout:
    return Layout(SITE.pem + INTERMEDIATE.pem, key=SITE.key_pem())


def _certbot_apart(_: Maker) -> Layout:
    return Layout(SITE.pem, key=SITE.key_pem(), intermediates=INTERMEDIATE.pem)


def _certbot_full_chain_twice(_: Maker) -> Layout:
    told = "Certificate 3 repeats certificate 2"
    return Layout(SITE.pem + INTERMEDIATE.pem, key=SITE.key_pem(), intermediates=INTERMEDIATE.pem, told=(told,))


def _step(maker: Maker) -> Layout:
    return Layout(SITE.pem + INTERMEDIATE.pem, key=maker.openssl("ec", "-in", "leaf.key"))


def _step_pkcs12(maker: Maker) -> Layout:
    return Layout(maker.pkcs12(), passphrase=WORD.encode())


def _ec_parameters(maker: Maker) -> Layout:
    parameters = maker.openssl("ecparam", "-name", "prime256v1")
    key = maker.openssl("ec", "-in", "leaf.key")
    return Layout(parameters + key + SITE.pem + INTERMEDIATE.pem)


def _encrypted_sec1(maker: Maker) -> Layout:
    key = maker.openssl("ec", "-in", "leaf.key", "-aes256", "-passout", f"pass:{WORD}")
    return Layout(SITE.pem + INTERMEDIATE.pem, key=key, passphrase=WORD.encode())


def _encrypted_pkcs8(*words: str) -> Callable[[Maker], Layout]:
    def make(maker: Maker) -> Layout:
        key = maker.openssl("pkcs8", "-topk8", "-in", "leaf.key", "-passout", f"pass:{WORD}", *words)
        return Layout(SITE.pem + INTERMEDIATE.pem, key=key, passphrase=WORD.encode())

    return make


def _windows_pfx(maker: Maker) -> Layout:
    return Layout(maker.pkcs12(*LEGACY, "-CSP", "Microsoft Software KSP"), passphrase=WORD.encode())


def _windows_pfx_with_another_authority(maker: Maker) -> Layout:
    content = maker.pkcs12(*LEGACY, chain="other.crt")
    return Layout(content, passphrase=WORD.encode(), told=("is not of the chain, and is not served",))


def _windows_pem(maker: Maker) -> Layout:
    return Layout(maker.extracted("-nodes").replace(b"\n", b"\r\n"))


def _windows_pem_key_last(maker: Maker) -> Layout:
    certificates = maker.extracted("-cacerts", "-nokeys") + maker.extracted("-clcerts", "-nokeys")
    return Layout(certificates + maker.extracted("-nocerts", "-nodes"), told=("served as 3, 1, 2",))


def _windows_utf16(maker: Maker) -> Layout:
    return Layout(maker.extracted("-nodes").decode().encode("utf-16"))


def _windows_p7b(maker: Maker) -> Layout:
    files = "-certfile", "leaf.crt", "-certfile", "chain.crt"
    content = maker.openssl("crl2pkcs7", "-nocrl", *files)
    return Layout(content, key=SITE.key_pem())


def _windows_cer(maker: Maker) -> Layout:
    leaf = maker.openssl("x509", "-in", "leaf.crt", "-outform", "DER")
    chain = maker.openssl("crl2pkcs7", "-nocrl", "-certfile", "chain.crt", "-outform", "DER")
    return Layout(leaf, key=SITE.key_pem(), intermediates=chain)


def _reversed(_: Maker) -> Layout:
    return Layout(ROOT.pem + INTERMEDIATE.pem + SITE.pem, key=SITE.key_pem(), told=("served as 3, 2, 1",))


def _two_forms_of_the_key(maker: Maker) -> Layout:
    keys = SITE.key_pem() + maker.openssl("ec", "-in", "leaf.key")
    return Layout(keys + SITE.pem + INTERMEDIATE.pem, told=("There are 2 private keys",))


LAYOUTS: dict[str, Callable[[Maker], Layout]] = {
    "certbot": _certbot,
    "certbot, chain apart": _certbot_apart,
    "certbot, fullchain with chain": _certbot_full_chain_twice,
    "step": _step,
    "step, PKCS#12": _step_pkcs12,
    "EC parameters": _ec_parameters,
    "encrypted SEC 1": _encrypted_sec1,
    "encrypted PKCS#8": _encrypted_pkcs8(),
    "encrypted PKCS#8, scrypt": _encrypted_pkcs8("-scrypt"),
    "encrypted PKCS#8, 3DES": _encrypted_pkcs8("-v1", "PBE-SHA1-3DES"),
    "Windows, pfx": _windows_pfx,
    "Windows, pfx with another authority": _windows_pfx_with_another_authority,
    "Windows, PEM of a pfx": _windows_pem,
    "Windows, PEM with the key last": _windows_pem_key_last,
    "Windows, UTF-16": _windows_utf16,
    "Windows, p7b": _windows_p7b,
    "Windows, cer in DER": _windows_cer,
    "reversed": _reversed,
    "two forms of the key": _two_forms_of_the_key,
}


def layouts(folder: Path) -> Iterator[tuple[str, Layout]]:
    """All layouts, by name."""
    maker = Maker(folder)
    for name, make in LAYOUTS.items():
        yield name, make(maker)
