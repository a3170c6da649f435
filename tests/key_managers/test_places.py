"""References that name a place in a project's folder, and nothing outside of it."""

import pytest

from evenkeel.core.kit.errors import Invalid
from evenkeel.key_managers.places import CertificateAddress, checked_certificate_address, parse_certificate_address


@pytest.mark.parametrize(("project_id", "name"), [("p1", "www"), ("_-.x", "W.w_w-1"), ("p" * 36, "n" * 100)])
def test_a_reference_leads_back_to_its_place(project_id: str, name: str) -> None:
    place = checked_certificate_address("vault", project_id, name)

    assert place == CertificateAddress(scheme="vault", project_id=project_id, name=name)
    assert parse_certificate_address("vault", place.reference) == place
    assert parse_certificate_address("directory", place.reference) is None


@pytest.mark.parametrize(
    ("project_id", "name"),
    [
        *(
            ("..", "www"),
            (".p", "www"),
            ("", "www"),
            ("p" * 37, "www"),
            ("p/q", "www"),
            ("p\n", "www"),
            ("p%2e", "www"),
        ),
        *(
            ("p", ".."),
            ("p", ".w"),
            ("p", ""),
            ("p", "n" * 101),
            ("p", "a/b"),
            ("p", "w\n"),
            ("p", "a?b"),
            ("p", "%2e"),
        ),
    ],
)
def test_name_that_could_lead_elsewhere_is_no_place(project_id: str, name: str) -> None:
    assert parse_certificate_address("vault", f"vault://{project_id}/{name}") is None
    with pytest.raises(Invalid, match=r"field/attribute (project_id|name)\. "):
        checked_certificate_address("vault", project_id, name)
