"""Contents that are sent once, and named by their identity afterwards."""

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.partition.contents import (
    fill_in_held_contents,
    is_content_missing,
    missing_contents,
    remove_private_keys,
)
from evenkeel.haproxyd.partition.digests import load_balancer_digest


def file(content: str = "", sha256: str = "", kind: str = "certificate", name: str = "c.pem") -> wire.File:
    return wire.File(name=name, kind=kind, content=content, sha256=sha256)


def balancer(*files: wire.File) -> wire.LoadBalancerConfig:
    return wire.LoadBalancerConfig(id="lb", revision=1, files=files)


@pytest.mark.parametrize("kind", ["certificate", "ca", "crl"])
def test_file_without_content_means_the_held_one_of_equal_name_kind_and_identity(kind: str) -> None:
    held = balancer(file("SECRET", "abc", kind))
    assert fill_in_held_contents(balancer(file("", "abc", kind)), held) == held
    for other in (file("", "abd", kind), file("", "abc", kind, name="d.pem")):
        found = fill_in_held_contents(balancer(other), held)
        assert (found, missing_contents(found)) == (balancer(other), (other.sha256,))
    assert missing_contents(fill_in_held_contents(balancer(file("", "abc", kind)), None)) == ("abc",)
    changed = balancer(file("OTHER", "abc", kind))
    assert (fill_in_held_contents(changed, held), missing_contents(changed)) == (changed, ())


def test_a_certificate_without_identity_is_the_one_held_under_its_name() -> None:
    for sha256 in ("", "abc"):
        held = balancer(file("SECRET", sha256))
        assert fill_in_held_contents(balancer(file()), held) == held
    assert is_content_missing(file()) and missing_contents(balancer(file())) == ()


def test_a_held_one_whose_content_was_lost_lacks_it_again() -> None:
    lost = balancer(file("", "abc"))
    assert missing_contents(fill_in_held_contents(lost, lost)) == ("abc",)


@pytest.mark.parametrize("kind", ["acl", "crt_list"])
def test_other_files_may_be_empty_and_lack_nothing(kind: str) -> None:
    assert not is_content_missing(file(kind=kind, sha256="abc"))


def test_no_key_is_shown_in_any_form() -> None:
    one = balancer(file("SECRET", "abc"), file("of all", kind="ca", name="ca.pem"))
    assert remove_private_keys(one) == balancer(file("", "abc"), file("of all", kind="ca", name="ca.pem"))
    assert "SECRET" not in repr(one) and "'abc'" in repr(one)


def test_a_digest_tells_a_content_by_its_identity_and_what_is_lost_from_what_is_held() -> None:
    def of(content: str, sha256: str) -> str:
        return load_balancer_digest(balancer(file(content, sha256)))

    assert of("SECRET", "abc") == of("the same in other lines", "abc")
    assert len({of("SECRET", "abc"), of("SECRET", "abd"), of("", "abc"), of("SECRET", "")}) == 4
    assert of("SECRET", "") != of("OTHER", "")
    plain = balancer(file("x", kind="acl"))
    assert load_balancer_digest(plain) != load_balancer_digest(msgspec.structs.replace(plain, files=()))
