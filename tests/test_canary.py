"""The canary finds the planted key in whatever form it was written."""

import base64
import json
import shutil
import tempfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests import canary

FORMS = [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL]


def written(encoding: Encoding, form: PrivateFormat) -> bytes:
    return canary.planted_key().private_bytes(encoding, form, NoEncryption())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", range(5))
def test_every_form_is_found(form: PrivateFormat, before: int) -> None:
    pem, der = written(Encoding.PEM, form), written(Encoding.DER, form)
    text = pem.decode()
    for content in (
        pem,
        der,
        json.dumps({"key": text}).encode(),
        text.replace("\n", "\r\n").encode(),
        base64.b64encode(b"." * before + pem),
        base64.b64encode(b"." * before + der),
        repr(pem).encode(),
        der.hex().encode(),
        b"." * before + pem + b"more",
    ):
        assert canary.is_in(content), content


def test_every_form_is_found_among_large_files() -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "harmless").write_bytes(bytes(canary.GREP_BYTES))
    holding = [folder / f"form\n{number}" for number in range(len(canary.needles()))]
    for path, needle in zip(holding, canary.needles(), strict=True):
        path.write_bytes(b"\n\xff" + needle + bytes(10))
    shutil.rmtree(folder)
    assert sorted(canary.take_findings()) == sorted(f"the planted private key is in {path}" for path in holding)


def test_another_key_and_a_certificate_are_not_it() -> None:
    public = canary.planted_key().public_key().public_numbers()
    assert not canary.is_in(public.x.to_bytes(32) + public.y.to_bytes(32))
    assert not canary.is_in(base64.b64encode(bytes(range(256)) * 40))


def test_a_removed_directory_is_searched() -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "below").mkdir()
    (folder / "below" / "log").write_bytes(b"x" * canary.CHUNK_BYTES + written(Encoding.PEM, FORMS[0]))
    canary.write_expected(folder / "given", written(Encoding.PEM, FORMS[0]))
    shutil.rmtree(folder)
    assert canary.take_findings() == [f"the planted private key is in {folder / 'below' / 'log'}"]
    assert not folder.exists()


def test_a_directory_in_which_it_belongs_is_not_searched(tmp_path: Path) -> None:
    device = canary.expect_in(tmp_path / "device")
    device.mkdir()
    (device / "key").write_bytes(written(Encoding.DER, FORMS[0]))
    canary.search(tmp_path)
    assert not canary.take_findings()


@pytest.mark.skipif(not canary.SHARED_MEMORY.is_dir(), reason="no memory file system")
def test_a_daemons_folder_of_keys_in_memory_is_not_searched() -> None:
    folder = Path(tempfile.mkdtemp(dir=canary.SHARED_MEMORY))
    for name in ("evenkeel-keys-1", "other"):
        (folder / name).mkdir()
        (folder / name / "key").write_bytes(written(Encoding.DER, FORMS[0]))
    shutil.rmtree(folder / "evenkeel-keys-1")
    assert not canary.take_findings()
    shutil.rmtree(folder)
    assert canary.take_findings() == [f"the planted private key is in {folder / 'other' / 'key'}"]


def test_output_of_a_test_is_searched() -> None:
    canary.search_texts("a test", ["harmless", f"{written(Encoding.PEM, FORMS[0])!r}"])
    assert canary.take_findings() == ["the planted private key is in the output of a test"]
