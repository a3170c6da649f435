"""Contents of certificates: in files of their own, named by words that tell nothing."""

from pathlib import Path

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.certificate_contents import CertificateContents


def balancer(*contents: str, kind: str = "certificate") -> wire.LoadBalancerConfig:
    files = tuple(
        wire.File(name=f"{number}.pem", kind=kind, content=text, sha256="abc") for number, text in enumerate(contents)
    )
    return wire.LoadBalancerConfig(id="lb", revision=1, files=files)


@pytest.fixture
def kept(tmp_path: Path) -> CertificateContents:
    return CertificateContents(tmp_path)


def test_contents_are_kept_apart_and_read_by_the_next_daemon(kept: CertificateContents) -> None:
    one = balancer("SECRET", "OTHER", "SECRET")
    written = kept.store_contents(one)
    assert {len(file.content) for file in written.files} == {37}
    assert "SECRET" not in str([file.content for file in written.files])
    assert kept.store_contents(one) == written
    later = CertificateContents(kept.folder)
    assert later.fill_in_contents(written) == one
    assert later.store_contents(one) == written
    assert len(list(kept.folder.iterdir())) == 2
    assert {path.stat().st_mode & 0o777 for path in kept.folder.iterdir()} == {0o600}


def test_line_ends_stay_as_they_are(kept: CertificateContents) -> None:
    one = balancer("SEC\r\nRET\r\n")
    assert CertificateContents(kept.folder).fill_in_contents(kept.store_contents(one)) == one


def test_content_of_a_ca_file_stays_in_place(kept: CertificateContents) -> None:
    one = balancer("everybody may see it", kind="ca")
    assert kept.store_contents(one) == one == kept.fill_in_contents(one)


def test_lost_content_is_restored_as_empty(kept: CertificateContents) -> None:
    written = kept.store_contents(balancer("SECRET"))
    for path in kept.folder.iterdir():
        path.unlink()
    assert CertificateContents(kept.folder).fill_in_contents(written) == balancer("")
    assert kept.store_contents(balancer("")) == balancer("")


def test_damaged_content_counts_as_lost(kept: CertificateContents) -> None:
    written = kept.store_contents(balancer("SECRET", "OTHER"))
    for path in kept.folder.iterdir():
        path.write_text(path.read_text().replace("SECRET", "SECRE"))
    assert CertificateContents(kept.folder).fill_in_contents(written) == balancer("", "OTHER")


def test_a_word_that_is_none_of_ours_leads_to_no_file(kept: CertificateContents) -> None:
    (kept.folder.parent / "secret").write_text("SECRET")
    for word in ("../secret", "/etc/passwd", "", "0" * 32):
        assert kept.fill_in_contents(balancer(f"kept:{word}")) == balancer("")


def test_a_content_that_looks_like_a_word_is_a_content(kept: CertificateContents) -> None:
    one = balancer("kept:../secret")
    assert CertificateContents(kept.folder).fill_in_contents(kept.store_contents(one)) == one


def test_only_unreferenced_contents_are_removed(kept: CertificateContents) -> None:
    kept.store_contents(balancer("SECRET", "OTHER"))
    (kept.folder / ".half.new").write_text("SECRET")
    kept.remove_contents_except([balancer("OTHER")])
    assert [path.read_text() for path in kept.folder.iterdir()] == ["OTHER"]
    assert kept.fill_in_contents(kept.store_contents(balancer("SECRET"))) == balancer("SECRET")


def test_after_its_folder_was_taken_away_all_is_written_again(kept: CertificateContents) -> None:
    one = balancer("SECRET")
    kept.store_contents(one)
    for path in kept.folder.iterdir():
        path.unlink()
    kept.forget_written_contents()
    assert CertificateContents(kept.folder).fill_in_contents(kept.store_contents(one)) == one
