"""The authority of a request: the one that it names, or else the project's."""

import pytest

from evenkeel.core.kit.errors import Invalid, Unsupported
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.acme.authorities import AuthorityScope, authority_for

P1, P2 = ProjectId("p1"), ProjectId("p2")
DEFAULT, SECOND = AuthorityScope(name="default"), AuthorityScope(name="second")
OWN = AuthorityScope(name="own", projects=(P1,))


@pytest.mark.parametrize(
    ("project", "wanted", "scopes", "used"),
    [
        (P1, None, (DEFAULT, SECOND, OWN), "own"),
        (P2, None, (DEFAULT, SECOND, OWN), "default"),
        (P1, "second", (DEFAULT, SECOND, OWN), "second"),
        (P1, "default", (DEFAULT, OWN), "default"),
        (P2, None, (SECOND, OWN), "second"),
    ],
)
def test_a_request_has_the_named_authority_or_the_projects_own_or_the_default(
    project: ProjectId, wanted: str | None, scopes: tuple[AuthorityScope, ...], used: str
) -> None:
    assert authority_for(project, wanted, scopes) == used


def test_an_authority_of_other_projects_is_refused_and_not_listed() -> None:
    with pytest.raises(Invalid, match=r"Value: 'own'\. Value should be default\.") as refused:
        authority_for(P2, "own", (DEFAULT, OWN))
    assert str(refused.value).count("own") == 1


@pytest.mark.parametrize("scopes", [(OWN,), (SECOND, AuthorityScope(name="third"))])
def test_a_project_without_a_default_authority_is_refused(scopes: tuple[AuthorityScope, ...]) -> None:
    with pytest.raises(Unsupported, match="p2"):
        authority_for(P2, None, scopes)
