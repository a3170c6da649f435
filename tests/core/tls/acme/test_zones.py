"""Zones in which names of projects are proven, and the records that prove them."""

import pytest

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.acme.values import Authorization, AuthorizationStatus, TxtRecord
from evenkeel.core.tls.acme.zones import ZoneScope, challenge_record, find_zone, find_zones, wildcards_without_zone

ONE, TWO = ProjectId("p1"), ProjectId("p2")
SCOPES = (
    ZoneScope(zone="example.org", projects=(ONE,)),
    ZoneScope(zone="team.example.org", projects=(TWO,)),
    ZoneScope(zone="shared.example", projects=(ONE, TWO)),
)


@pytest.mark.parametrize(
    ("project", "name", "zone"),
    [
        (ONE, "example.org", "example.org"),
        (ONE, "a.b.example.org", "example.org"),
        (ONE, "*.example.org", "example.org"),
        (TWO, "*.team.example.org", "team.example.org"),
        (TWO, "shared.example", "shared.example"),
        (ONE, "team.example.org", None),
        (ONE, "*.team.example.org", None),
        (ONE, "www.team.example.org", None),
        (TWO, "www.example.org", None),
        (ONE, "myexample.org", None),
        (ONE, "org", None),
        (ProjectId("p3"), "shared.example", None),
    ],
)
def test_the_zone_of_a_name_is_the_most_specific_one_if_it_belongs_to_the_project(
    project: ProjectId, name: str, zone: str | None
) -> None:
    assert find_zone(project, name, SCOPES) == zone


def test_names_outside_of_the_projects_zones_are_left_out() -> None:
    names = ("www.example.org", "www.example.net", "*.example.net", "*.example.org")
    assert find_zones(ONE, names, SCOPES) == {"www.example.org": "example.org", "*.example.org": "example.org"}
    assert wildcards_without_zone(ONE, names, SCOPES) == ["*.example.net"]


def test_the_record_of_a_wildcard_is_that_of_its_domain() -> None:
    authorization = Authorization(
        name="*.example.org",
        status=AuthorizationStatus.PENDING,
        challenge_url="https://ca.example/challenge/1",
        token="token",
        key_authorization="token.thumbprint",
        unanswered=True,
    )
    # printf token.thumbprint | openssl dgst -sha256 -binary | basenc --base64url
    value = "61rBZ_4knHblO0MNoxFsXZ_eTFUHum0B6IVRbhvUn5I"
    assert challenge_record(authorization, "example.org") == TxtRecord(
        zone="example.org", name="_acme-challenge.example.org", value=value
    )
