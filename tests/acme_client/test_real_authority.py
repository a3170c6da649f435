"""The client with a real ACME server, acme2certifier, which needs External Account Binding and validates nothing."""

from collections.abc import Iterator

import pytest

from evenkeel.acme_client.authority import AcmeAuthority, ExternalAccount
from evenkeel.core.kit.errors import AcmeRequestRefused
from evenkeel.core.tls.acme.values import AuthorityOrder, OrderStatus
from evenkeel.core.tls.certificates import Secret
from tests.acme_client.test_key_pairs import private
from tests.key_managers.authority import ec_key
from tests.services import acme2certifier
from tests.services.acme2certifier import Acme2Certifier
from tests.services.installation import NotInstallable
from tests.waiting import eventually

NAMES = ("www.example.org",)
KEY = "YS1rZXktb2YtdGhpcnR5LXR3by1ieXRlcy1pbi1hbGwtMTIzNA"


@pytest.fixture(scope="module")
def server() -> Iterator[Acme2Certifier]:
    try:
        venv = acme2certifier.installed()
    except NotInstallable as error:
        pytest.skip(str(error))
    made = Acme2Certifier(venv, None, {"key-1": KEY})
    made.start()
    yield made
    made.close()


def client(server: Acme2Certifier, external: ExternalAccount | None) -> AcmeAuthority:
    return AcmeAuthority(
        server.directory_url,
        contact="a@example.org",
        ca_file=str(server.ca_file),
        timeout_seconds=20.0,
        external_account=external,
    )


async def test_an_account_is_bound_to_the_external_account(server: Acme2Certifier) -> None:
    authority = client(server, ExternalAccount("key-1", Secret(KEY.encode())))
    account = private(ec_key())
    order = await authority.order(account, NAMES)
    assert (await authority.read(account, order.url)).status is OrderStatus.PENDING
    authority.close()


@pytest.mark.parametrize(
    "external",
    [None, ExternalAccount("key-1", Secret(KEY[::-1].encode())), ExternalAccount("key-2", Secret(KEY.encode()))],
    ids=["none", "wrong key", "unknown identifier"],
)
async def test_an_account_without_a_valid_external_account_is_refused(
    server: Acme2Certifier, external: ExternalAccount | None
) -> None:
    authority = client(server, external)
    with pytest.raises(AcmeRequestRefused) as refused:
        await authority.order(private(ec_key()), NAMES)
    assert KEY not in str(refused.value) and KEY[::-1] not in str(refused.value)
    authority.close()


async def test_a_certificate_has_a_suggested_renewal_is_replaced_by_its_identifier_and_revoked(
    server: Acme2Certifier,
) -> None:
    authority = client(server, ExternalAccount("key-1", Secret(KEY.encode())))
    account, key = private(ec_key()), private(ec_key())
    made = await authority.order(account, NAMES)
    for one in (await authority.read(account, made.url)).authorizations:
        await authority.answer(account, one)

    async def is_in(status: OrderStatus) -> AuthorityOrder | None:
        found = await authority.read(account, made.url)
        return found if found.status is status else None

    await authority.finalize(account, await eventually(lambda: is_in(OrderStatus.READY)), key, NAMES)
    valid = await eventually(lambda: is_in(OrderStatus.VALID))
    issued = await authority.download(account, valid, key, NAMES)
    window = await authority.renewal_window(account, issued.certificate_id)
    assert window is not None
    assert issued.not_before.timestamp() < window.start <= window.end <= issued.not_after.timestamp()
    assert (await authority.order(account, NAMES, replaces=issued.certificate_id)).url != made.url
    await authority.revoke(account, issued.chain.decode(), 4)
    await authority.revoke(account, issued.chain.decode(), 4)  # as another controller would
    authority.close()
