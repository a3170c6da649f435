"""CAA records are read from the name up to its first parent that has any."""

from evenkeel.controller.acme.authorization_records import AuthorizationRecords
from evenkeel.core.tls.acme.caa import CaaRecord, Issuer
from evenkeel.core.tls.acme.values import ChallengeMethod

CA = Issuer(identities=("ca.example",), account_url="")

HTTP = ChallengeMethod.HTTP_01


class Resolver:
    """Records by name; takes note of what is asked."""

    def __init__(self, records: dict[str, str]) -> None:
        self._records = records
        self.asked: list[str] = []

    async def addresses(self, name: str) -> tuple[str, ...]:
        return ()

    async def caa(self, name: str) -> tuple[CaaRecord, ...]:
        self.asked.append(name)
        return (CaaRecord(0, "issue", self._records[name]),) if name in self._records else ()


async def test_the_first_records_on_the_way_up_count() -> None:
    resolver = Resolver({"b.example": "ca.example", "example": "other.example"})
    assert await AuthorizationRecords(resolver).issuance_problem({"a.b.example": HTTP}, CA) == ""
    assert resolver.asked == ["a.b.example", "b.example"]


async def test_each_name_is_looked_at() -> None:
    resolver = Resolver({"b.example": "other.example"})
    problem = await AuthorizationRecords(resolver).issuance_problem({"a.example": HTTP, "b.example": HTTP}, CA)
    assert problem.startswith("The CAA records of b.example do not allow a certificate for b.example: they allow only")


async def test_an_authority_without_a_name_is_not_looked_for() -> None:
    resolver = Resolver({"a.example": "other.example"})
    nameless = Issuer(identities=(), account_url="")
    assert await AuthorizationRecords(resolver).issuance_problem({"a.example": HTTP}, nameless) == ""
    assert resolver.asked == []
