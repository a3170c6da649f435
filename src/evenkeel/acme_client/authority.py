"""The port ``OrderingAuthority``, implemented by certbot's library in threads."""

import threading
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from acme import challenges, errors, messages
from acme.client import ClientV2
from cryptography import x509
from josepy.errors import Error as JoseError
from josepy.json_util import field as json_field
from requests.exceptions import RequestException

from evenkeel.acme_client.bounded_http import BoundedNetwork
from evenkeel.acme_client.issued import parse_issued_chain
from evenkeel.acme_client.key_pairs import account_key, certificate_request
from evenkeel.core.kit.blocking import BlockingCalls
from evenkeel.core.kit.errors import AcmeAuthorityUnavailable, AcmeOrderUnknown, AcmeRateLimited, AcmeRequestRefused
from evenkeel.core.resources.http_challenges import is_valid_challenge
from evenkeel.core.tls.acme.caa import Issuer
from evenkeel.core.tls.acme.names import WILDCARD, without_wildcard
from evenkeel.core.tls.acme.values import (
    AuthorityOrder,
    Authorization,
    AuthorizationStatus,
    ChallengeMethod,
    IssuedChain,
    OrderStatus,
    RenewalWindow,
)
from evenkeel.core.tls.certificates import PrivateKey, Secret

T = TypeVar("T")

THREADS_MAX = 4
AUTHORIZATIONS_MAX = 100
URL_CHARACTERS_MAX = 2000
TEXT_CHARACTERS_MAX = 500
RENEWAL_INFO_RESOURCE = "renewalInfo"
RENEWAL_INFO_SECONDS = 6 * 3600.0
"""Interval between reads of renewal information if the authority names none (RFC 9773, 4.3.3)."""
_STATUSES_OF_UNKNOWN_ORDERS = (404, 410)
_INVALID_ANSWER_ERRORS = (
    errors.Error,
    JoseError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    AssertionError,
    RecursionError,
)
"""Errors that the library raises for answers that are not as RFC 8555 prescribes."""


class ExternalAccount(NamedTuple):
    """A customer's account at the authority outside of ACME, to which it binds ACME accounts (RFC 8555, 7.3.4)."""

    key_id: str
    hmac_key: Secret
    """HMAC key in base64url, as the authority gave it."""


class _RenewalOrder(messages.NewOrder):
    """A new order that names the certificate which it renews (RFC 9773, 5)."""

    replaces: str = json_field("replaces", omitempty=True)


class AcmeAuthority:
    """Client of one certificate authority. Every request raises :class:`AcmeRequestRefused`
    (:class:`AcmeRateLimited` for a rate limit) and :class:`AcmeAuthorityUnavailable`, also for a response
    that RFC 8555 does not allow.

    ``contact``: e-mail address of the account; empty: none. ``ca_file``: CA certificates for its HTTPS
    server; None: the system's. ``timeout_seconds``: of each request; an operation has three times as long.
    ``external_account``: for External Account Binding; None: without. ``caa_identities``: names of the
    authority in CAA records; empty: those that its directory states.
    """

    def __init__(
        self,
        directory_url: str,
        *,
        contact: str,
        ca_file: str | None,
        timeout_seconds: float,
        external_account: ExternalAccount | None = None,
        caa_identities: Sequence[str] = (),
    ) -> None:
        self._directory_url = directory_url
        self._origin = _url_origin(directory_url)
        self._contact = contact
        self._external_account = external_account
        self._caa_identities = tuple(caa_identities)
        self._verify: str | bool = ca_file or True
        self._timeout_seconds = timeout_seconds
        self._calls = BlockingCalls(
            "the certificate authority",
            unavailable=AcmeAuthorityUnavailable,
            timeout_seconds=3 * timeout_seconds,
            threads=THREADS_MAX,
        )
        # The library's client is for one thread: it hands out nonces without a lock.
        self._of_thread = threading.local()

    async def issuer(self, account: PrivateKey) -> Issuer:
        """Read the authority's CAA identities, in lower case, and the URL of the account. Raises
        :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`.
        """
        return await self._run_with_client(account, self._read_issuer)

    async def order(self, account: PrivateKey, names: Sequence[str], *, replaces: str = "") -> AuthorityOrder:
        """Create an order for these names; its authorizations are not read. ``replaces``: identifier of the
        certificate that is renewed; empty: none. An authority that refuses ``replaces`` gets the order
        without it. Raises :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`.
        """
        return await self._run_with_client(account, lambda client: self._make_order(client, names, replaces))

    async def renewal_window(self, account: PrivateKey, certificate_id: str) -> RenewalWindow | None:
        """Read the authority's suggestion when to renew the certificate (RFC 9773, 4.2); None if the
        authority offers no renewal information. Raises :class:`AcmeRequestRefused`,
        :class:`AcmeAuthorityUnavailable`.
        """
        return await self._run_with_client(account, lambda client: self._renewal_window(client, certificate_id))

    async def revoke(self, account: PrivateKey, certificate: str, reason: int) -> None:
        """Revoke a certificate (PEM) by the account that ordered it, with a reason code of RFC 5280; nothing
        happens if it is revoked already. Raises :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`.
        """
        found = x509.load_pem_x509_certificate(certificate.encode())

        def post_revocation(client: ClientV2) -> None:
            body = messages.Revocation(certificate=found, reason=reason)
            try:
                _post_signed(client, self._checked_url(client.directory["revokeCert"]), body)
            except messages.Error as error:
                if error.code != "alreadyRevoked":
                    raise

        await self._run_with_client(account, post_revocation)

    async def read(self, account: PrivateKey, url: str, *, dns_names: Collection[str] = ()) -> AuthorityOrder:
        """Read the order at ``url``, with its authorizations while it is pending or invalid, else without
        any. ``dns_names``: names that are proven by dns-01; all others are by http-01. Raises
        :class:`AcmeOrderUnknown` if this authority does not have the order, :class:`AcmeRequestRefused`, also if
        a challenge is not offered, :class:`AcmeAuthorityUnavailable`.
        """
        if _url_origin(url) != self._origin:
            raise AcmeOrderUnknown(f"The order was made at another authority: {url[:TEXT_CHARACTERS_MAX]}")
        return await self._run_with_client(
            account, lambda client: self._read_order(client, url, dns_names), unknown=True
        )

    async def answer(self, account: PrivateKey, authorization: Authorization) -> None:
        """Send the response to a challenge, which starts the validation. Raises :class:`AcmeRequestRefused`,
        :class:`AcmeAuthorityUnavailable`.
        """
        response = _RESPONSE_BY_METHOD[authorization.method](key_authorization=authorization.key_authorization)
        url = self._checked_url(authorization.challenge_url)
        await self._run_with_client(account, lambda client: _post_signed(client, url, response))

    async def finalize(self, account: PrivateKey, order: AuthorityOrder, key: PrivateKey, names: Sequence[str]) -> None:
        """Send a certificate request, signed by ``key`` and for ``names``, for an order whose names are
        proven. Raises :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`.
        """
        url = self._checked_url(order.finalize_url)

        def post_request(client: ClientV2) -> None:
            _post_signed(client, url, messages.CertificateRequest(csr=certificate_request(names, key)))

        await self._run_with_client(account, post_request)

    async def download(
        self, account: PrivateKey, order: AuthorityOrder, key: PrivateKey, names: Sequence[str]
    ) -> IssuedChain:
        """Read the issued certificate with its chain, and check it by :func:`parse_issued_chain`. Raises
        :class:`AcmeRequestRefused`, also if the check fails, :class:`AcmeAuthorityUnavailable`.
        """
        url = self._checked_url(order.certificate_url)

        def read_chain(client: ClientV2) -> IssuedChain:
            return parse_issued_chain(_post_signed(client, url, None).content, key, names, datetime.now(UTC))

        return await self._run_with_client(account, read_chain)

    def close(self) -> None:
        """Close the thread pool: calls that start from now on are refused; running ones end by their
        time-outs.
        """
        self._calls.close()

    async def _run_with_client(self, account: PrivateKey, work: Callable[[ClientV2], T], *, unknown: bool = False) -> T:
        """Run ``work`` in a thread with the account's client. ``unknown``: True if a response "not found"
        means that the order is unknown. Raises :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`,
        and then :class:`AcmeOrderUnknown`.
        """

        def call_library() -> T:
            network: BoundedNetwork | None = None
            try:
                client = self._registered_client(account)
                network = client.net  # type: ignore[assignment]
                return work(client)
            except (AcmeRequestRefused, AcmeOrderUnknown):
                raise
            except (RequestException, *_INVALID_ANSWER_ERRORS) as error:
                network = network or getattr(self._of_thread, "network", None)
                # The next call begins with a new client: this one may have a nonce or an account that is not accepted.
                self._forget_client()
                raise _translate_error(error, network, unknown=unknown) from error

        return await self._calls.run(call_library)

    def _registered_client(self, account: PrivateKey) -> ClientV2:
        """Return this thread's client with the account, which is registered first if this thread has no
        client for it. Raises :class:`AcmeRequestRefused`, :class:`AcmeAuthorityUnavailable`, and the library's
        errors.
        """
        known = getattr(self._of_thread, "client", None)
        if known is not None and self._of_thread.account == account:
            return known  # type: ignore[no-any-return]
        key, algorithm = account_key(account)
        network = BoundedNetwork(key, algorithm, verify=self._verify, timeout_seconds=self._timeout_seconds)
        self._of_thread.network = network
        client = ClientV2(ClientV2.get_directory(self._directory_url, network), network)
        for name in ("newNonce", "newAccount", "newOrder"):
            self._checked_url(client.directory[name])
        self._register_account(client)
        self._of_thread.client, self._of_thread.account = client, account
        return client

    def _register_account(self, client: ClientV2) -> None:
        external = self._external_account
        if external is None and client.external_account_required():
            raise AcmeRequestRefused("The authority wants External Account Binding: see eab_key_id of its section.")
        new = messages.NewRegistration.from_data(
            email=self._contact or None,
            terms_of_service_agreed=True,
            external_account_binding=None if external is None else _external_binding(client, external),
        )
        try:
            account = client.new_account(new)
        except errors.ConflictError as error:  # the account exists, with this key
            account = client.net.account = messages.RegistrationResource(body=new, uri=error.location)
        # The library takes an account without a URL, and signs with it.
        self._checked_url(str(account.uri or ""))

    def _forget_client(self) -> None:
        network = getattr(self._of_thread, "network", None)
        if network is not None:
            network.close()
        self._of_thread.client = self._of_thread.network = self._of_thread.account = None

    def _make_order(self, client: ClientV2, names: Sequence[str], replaces: str) -> AuthorityOrder:
        identifiers = [messages.Identifier(typ=messages.IDENTIFIER_FQDN, value=name) for name in names]
        plain = messages.NewOrder(identifiers=identifiers, profile="")
        wanted = plain
        if replaces and RENEWAL_INFO_RESOURCE in client.directory.to_partial_json():
            wanted = _RenewalOrder(identifiers=identifiers, profile="", replaces=replaces)
        try:
            response = _post_signed(client, client.directory["newOrder"], wanted)
        except messages.Error as error:
            if wanted is plain or error.code in ("rateLimited", "serverInternal", "badNonce"):
                raise
            # Another order replaces it already, or the authority does not know it any more: RFC 9773, 5.
            response = _post_signed(client, client.directory["newOrder"], plain)
        url = self._checked_url(response.headers["Location"])
        return self._build_order(url, messages.Order.from_json(response.json()), (), 0.0)

    def _read_issuer(self, client: ClientV2) -> Issuer:
        meta = client.directory.to_partial_json().get("meta")
        found = self._caa_identities or getattr(meta, "caa_identities", None) or ()
        # Without a stated name nothing is known, which is no reason to keep a certificate from anyone.
        identities = tuple(str(each).rstrip(".").lower() for each in found)
        account = _bounded_network(client).account
        return Issuer(identities=identities, account_url="" if account is None else str(account.uri))

    def _renewal_window(self, client: ClientV2, certificate_id: str) -> RenewalWindow | None:
        base = client.directory.to_partial_json().get(RENEWAL_INFO_RESOURCE)
        if not isinstance(base, str):
            return None
        response = client.net.get(
            self._checked_url(f"{base.rstrip('/')}/{certificate_id}"), content_type="application/json"
        )
        window = messages.RenewalInfo.from_json(response.json()).suggested_window
        return RenewalWindow(
            start=window.start.timestamp(),
            end=window.end.timestamp(),
            retry_after_seconds=_bounded_network(client).retry_after_seconds or RENEWAL_INFO_SECONDS,
        )

    def _read_order(self, client: ClientV2, url: str, dns_names: Collection[str]) -> AuthorityOrder:
        response = _post_signed(client, url, None)
        wanted = _bounded_network(client).retry_after_seconds
        body = messages.Order.from_json(response.json())
        urls = tuple(body.authorizations or ())
        if len(urls) > AUTHORIZATIONS_MAX:
            raise ValueError(f"an order has {len(urls)} authorizations")
        # Those of a finished order are of no interest, and some authorities do not show them any more.
        is_open = OrderStatus(body.status.name) in (OrderStatus.PENDING, OrderStatus.INVALID)
        found = tuple(self._read_authorization(client, each, dns_names) for each in urls) if is_open else ()
        return self._build_order(url, body, found, wanted)

    def _build_order(
        self, url: str, body: messages.Order, authorizations: tuple[Authorization, ...], wanted_seconds: float
    ) -> AuthorityOrder:
        return AuthorityOrder(
            url=url,
            status=OrderStatus(body.status.name),
            finalize_url=self._checked_url(body.finalize),
            certificate_url=self._checked_url(body.certificate) if body.certificate else "",
            authorizations=authorizations,
            problem=_problem_text(body.error),
            retry_after_seconds=wanted_seconds,
        )

    def _read_authorization(self, client: ClientV2, url: str, dns_names: Collection[str]) -> Authorization:
        body = messages.Authorization.from_json(_post_signed(client, self._checked_url(url), None).json())
        name = without_wildcard(str(body.identifier.value).lower())
        name = f"{WILDCARD}{name}" if body.wildcard else name
        method = ChallengeMethod.DNS_01 if name in dns_names else ChallengeMethod.HTTP_01
        one = next((each for each in body.challenges if isinstance(each.chall, _CHALLENGE_BY_METHOD[method])), None)
        if one is None:
            raise AcmeRequestRefused(f"The authority does not offer {method} for {name[:TEXT_CHARACTERS_MAX]}.")
        token, answer = one.chall.encode("token"), one.chall.key_authorization(client.net.key)
        if not is_valid_challenge(token, answer):
            raise ValueError("a token has other characters than those of base64url")
        return Authorization(
            name=name,
            status=_AUTHORIZATION_STATUSES.get(body.status.name, AuthorizationStatus.INVALID),
            challenge_url=self._checked_url(one.uri),
            token=token,
            key_authorization=answer,
            unanswered=one.status == messages.STATUS_PENDING,
            problem=_problem_text(one.error),
            method=method,
        )

    def _checked_url(self, url: str) -> str:
        """Return the URL unchanged. Raises :class:`AcmeAuthorityUnavailable` if it leads to another server than the
        directory's: it could be any server that controllers reach.
        """
        try:
            elsewhere = len(url) > URL_CHARACTERS_MAX or _url_origin(url) != self._origin
        except ValueError:
            elsewhere = True
        if elsewhere:
            raise AcmeAuthorityUnavailable(
                f"The authority names a URL that is not on its own server: {url[:TEXT_CHARACTERS_MAX]}"
            )
        return url


_CHALLENGE_BY_METHOD = {ChallengeMethod.HTTP_01: challenges.HTTP01, ChallengeMethod.DNS_01: challenges.DNS01}
_RESPONSE_BY_METHOD = {
    ChallengeMethod.HTTP_01: challenges.HTTP01Response,
    ChallengeMethod.DNS_01: challenges.DNS01Response,
}
_AUTHORIZATION_STATUSES = {"pending": AuthorizationStatus.PENDING, "valid": AuthorizationStatus.VALID}


def _external_binding(client: ClientV2, external: ExternalAccount) -> dict[str, Any]:
    key = _bounded_network(client).key
    assert key is not None  # noqa: S101  # given by _registered_client()
    return messages.ExternalAccountBinding.from_data(
        account_public_key=key.public_key(),
        kid=external.key_id,
        hmac_key=external.hmac_key.reveal().decode("ascii"),
        directory=client.directory,
    )


def _post_signed(client: ClientV2, url: str, content: Any) -> Any:
    return client.net.post(url, content, new_nonce_url=client.directory["newNonce"])


def _bounded_network(client: ClientV2) -> BoundedNetwork:
    assert isinstance(client.net, BoundedNetwork)  # noqa: S101  # made by this module
    return client.net


def _url_origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port (by default that of the scheme) of a URL. Raises :class:`ValueError` for a
    malformed URL.
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)


def _problem_text(error: messages.Error | None) -> str:
    """Return the text of a problem document (RFC 7807), with its subproblems, cut to
    :data:`TEXT_CHARACTERS_MAX`; empty for None.
    """
    if error is None:
        return ""
    parts = [error.title, error.detail, *(_problem_text(each) for each in list(error.subproblems or ())[:10])]
    texts = [part for part in parts if isinstance(part, str) and part]
    return " ".join("; ".join(texts or [str(error.typ)]).split())[:TEXT_CHARACTERS_MAX]


def _translate_error(error: Exception, network: BoundedNetwork | None, *, unknown: bool) -> Exception:
    status = 0 if network is None else network.status
    wanted = 0.0 if network is None else network.retry_after_seconds
    if isinstance(error, messages.Error):
        text = f"The authority answered: {_problem_text(error)}"
        if unknown and status in _STATUSES_OF_UNKNOWN_ORDERS:
            return AcmeOrderUnknown(text)
        if status >= 500 or error.code in ("serverInternal", "badNonce"):
            return AcmeAuthorityUnavailable(text, retry_after_seconds=wanted)
        refused = AcmeRateLimited if error.code == "rateLimited" else AcmeRequestRefused
        return refused(text, retry_after_seconds=wanted)
    if unknown and status in _STATUSES_OF_UNKNOWN_ORDERS:
        return AcmeOrderUnknown("The authority does not know the order any more.")
    if isinstance(error, RequestException):
        return AcmeAuthorityUnavailable(f"The authority cannot be reached: {_first_line(error)}")
    return AcmeAuthorityUnavailable(
        f"The authority answered otherwise than RFC 8555 prescribes (HTTP {status}, {type(error).__name__})",
        retry_after_seconds=wanted,
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:TEXT_CHARACTERS_MAX]
