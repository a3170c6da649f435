"""The server's side of ACME (RFC 8555), as much as the demo needs: everything in memory, I/O only by the
given functions.
"""

import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from acme.jws import JWS
from cryptography import x509
from josepy.b64 import b64decode, b64encode
from josepy.errors import Error as JoseError
from josepy.jwk import JWK, JWKEC, JWKRSA

PENDING, READY, VALID, INVALID = "pending", "ready", "valid", "invalid"
NAMES_MAX = 10

Headers = tuple[tuple[str, str], ...]


class Response(NamedTuple):
    """An HTTP response: status, body and headers, without ``Content-Length``, which the server adds."""

    status: int
    body: bytes
    headers: Headers = ()


class AcmeProblem(Exception):
    """The refusal of a request; ``kind`` is an error type of RFC 8555, 6.7, ``status`` the HTTP status, and
    ``document`` the JSON body of the response.
    """

    def __init__(self, kind: str, detail: str, status: int = 400) -> None:
        super().__init__(detail)
        self.status = status
        self.document = {"type": f"urn:ietf:params:acme:error:{kind}", "detail": detail, "status": status}


@dataclass
class AuthorizationState:
    """An ACME authorization for one name, with its only challenge. ``problem``: JSON object with the reason
    why the name is not proven; None: there is none.
    """

    name: str
    token: str
    status: str = PENDING
    problem: dict[str, Any] | None = None


@dataclass
class OrderState:
    """An ACME order of the account with the URL ``account``. ``certificate``: PEM, empty until it is issued."""

    account: str
    proofs: tuple[AuthorizationState, ...]
    certificate: str = ""

    @property
    def names(self) -> set[str]:
        return {proof.name for proof in self.proofs}

    @property
    def status(self) -> str:
        """Status of the order (RFC 8555, 7.1.6), which follows from its authorizations and its certificate."""
        states = {proof.status for proof in self.proofs}
        if self.certificate:
            return VALID
        if INVALID in states:
            return INVALID
        return READY if states == {VALID} else PENDING


class _Request(NamedTuple):
    """Content of a request whose signature was verified. ``account``: URL of the account; empty in a request
    for a new one.
    """

    key: JWK
    account: str
    payload: Any


class AcmeChallengeCheck(NamedTuple):
    """A method by which an ACME server checks that a client controls a name.

    ``kind``: its name in RFC 8555; ``answers``: returns, for a name and a token, the answers found there, or
    raises OSError; ``expected``: returns what one of the answers must be, for a key authorization.
    """

    kind: str
    answers: Callable[[str, str], Collection[str]]
    expected: Callable[[str], str]


def http_01_challenge(fetch: Callable[[str, str], str]) -> AcmeChallengeCheck:
    """Return the method http-01. ``fetch``: returns, for a name and a path, the body found there by HTTP, or
    raises OSError.
    """
    return AcmeChallengeCheck(
        "http-01", lambda name, token: [fetch(name, f"/.well-known/acme-challenge/{token}").strip()], lambda text: text
    )


def dns_01_challenge(texts: Callable[[str], Collection[str]]) -> AcmeChallengeCheck:
    """Return the method dns-01. ``texts``: returns the TXT records of a name, or raises OSError."""
    return AcmeChallengeCheck(
        "dns-01",
        lambda name, _: texts(f"_acme-challenge.{name}"),
        lambda text: b64encode(hashlib.sha256(text.encode()).digest()).decode(),
    )


class AcmeProtocol:
    """Answers ACME requests. ``root``: the server's URL. ``method``: how names are proven. ``sign``: returns
    the certificate (PEM) for a certificate request. Thread-safe: one request at a time.
    """

    def __init__(
        self, root: str, *, method: AcmeChallengeCheck, sign: Callable[[x509.CertificateSigningRequest], str]
    ) -> None:
        self._root = root
        self._method = method
        self._sign = sign
        self._lock = threading.Lock()
        self._nonces: set[bytes] = set()
        self._accounts: dict[str, JWK] = {}
        self._orders: list[OrderState] = []

    def respond(self, method: str, path: str, body: bytes) -> Response:
        """Return the response to an HTTP request, with a new nonce; refusals are responses, too. Blocks while
        a name is proven.
        """
        with self._lock:
            try:
                found = self._answer_post(path, body) if method == "POST" else self._answer_unsigned(path)
            except AcmeProblem as problem:
                found = _json_response(problem.status, problem.document)
            nonce = secrets.token_bytes(16)
            self._nonces.add(nonce)
        return found._replace(headers=(("Replay-Nonce", b64encode(nonce).decode()), *found.headers))

    def _answer_unsigned(self, path: str) -> Response:
        if path == "/nonce":
            return Response(200, b"")
        if path != "/directory":
            raise AcmeProblem("malformed", "POST is needed", 405)
        paths = {"newNonce": "nonce", "newAccount": "account", "newOrder": "order", "revokeCert": "revocation"}
        return _json_response(200, {name: f"{self._root}/{each}" for name, each in paths.items()})

    def _answer_post(self, path: str, body: bytes) -> Response:
        request = self._verify_request(path, body)
        kind, *numbers = path.strip("/").split("/")
        if not numbers and kind in ("account", "order", "revocation"):
            return {"account": self._open_account, "order": self._create_order, "revocation": self._accept_revocation}[
                kind
            ](request)
        number, order = self._own_order(request, numbers)
        if kind == "order":
            return self._order_response(200, number, order)
        if kind == "finalize":
            order.certificate = self._issue_certificate(order, request.payload)
            return self._order_response(200, number, order)
        if kind == "certificate" and order.certificate:
            return Response(200, order.certificate.encode(), (("Content-Type", "application/pem-certificate-chain"),))
        place, proof = _find_authorization(order, numbers)
        url = f"{self._root}/challenge/{number}/{place}"
        if kind == "authorization":
            identifier = {"type": "dns", "value": proof.name}
            challenges = [self._challenge_document(proof, url)]
            return _json_response(200, {"status": proof.status, "identifier": identifier, "challenges": challenges})
        if kind == "challenge":
            if proof.status == PENDING:
                self._validate_proof(proof, request.key)
            return _json_response(200, self._challenge_document(proof, url))
        raise _unknown_object()

    def _verify_request(self, path: str, body: bytes) -> _Request:
        """Return the content of a signed request. Raises :class:`AcmeProblem` unless its account, or the key
        of a new one, signed it for this path, with a nonce that was not used before.
        """
        try:
            signed = JWS.json_loads(body.decode())
            header = signed.signature.combined
            payload = json.loads(signed.payload) if signed.payload else None
        except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise AcmeProblem("malformed", "the body is no signed JSON") from error
        account = "" if path == "/account" else str(header.kid or "")
        key = self._accounts.get(account) if account else header.jwk
        if not isinstance(key, JWKEC | JWKRSA) or (not account and path != "/account"):
            raise AcmeProblem("accountDoesNotExist", "the account is not known")
        if header.url != f"{self._root}{path}" or not signed.verify(key):
            raise AcmeProblem("unauthorized", "the signature is not of this account for this URL", 403)
        if header.nonce not in self._nonces:
            raise AcmeProblem("badNonce", "the nonce is not known, or used already")
        self._nonces.remove(header.nonce)
        return _Request(key, account, payload)

    def _open_account(self, request: _Request) -> Response:
        known = next((url for url, key in self._accounts.items() if key == request.key), None)
        url = known or f"{self._root}/account/{len(self._accounts) + 1}"
        self._accounts[url] = request.key
        return _json_response(200 if known else 201, {"status": VALID}, (("Location", url),))

    def _create_order(self, request: _Request) -> Response:
        try:
            names = [each["value"].lower() for each in request.payload["identifiers"] if each["type"] == "dns"]
        except (TypeError, KeyError, AttributeError) as error:
            raise AcmeProblem("malformed", "identifiers: a list of names is needed") from error
        if not 1 <= len(names) <= NAMES_MAX:
            raise AcmeProblem("malformed", f"identifiers: 1 to {NAMES_MAX} names are possible")
        order = OrderState(
            request.account, tuple(AuthorizationState(name, secrets.token_urlsafe(32)) for name in names)
        )
        self._orders.append(order)
        number = len(self._orders) - 1
        return self._order_response(201, number, order)

    def _accept_revocation(self, request: _Request) -> Response:
        """Accept a revocation without recording it: this authority publishes no revocations."""
        return Response(200, b"")

    def _own_order(self, request: _Request, numbers: list[str]) -> tuple[int, OrderState]:
        number = int(numbers[0]) if numbers and numbers[0].isdecimal() else -1
        if not 0 <= number < len(self._orders) or self._orders[number].account != request.account:
            raise _unknown_object()
        return number, self._orders[number]

    def _order_response(self, status: int, number: int, order: OrderState) -> Response:
        body: dict[str, Any] = {
            "status": order.status,
            "identifiers": [{"type": "dns", "value": proof.name} for proof in order.proofs],
            "authorizations": [f"{self._root}/authorization/{number}/{each}" for each in range(len(order.proofs))],
            "finalize": f"{self._root}/finalize/{number}",
        }
        if order.certificate:
            body["certificate"] = f"{self._root}/certificate/{number}"
        problem = next((proof.problem for proof in order.proofs if proof.problem), None)
        if problem:
            body["error"] = problem
        return _json_response(status, body, (("Location", f"{self._root}/order/{number}"),))

    def _validate_proof(self, proof: AuthorizationState, key: JWK) -> None:
        expected = self._method.expected(f"{proof.token}.{b64encode(key.thumbprint()).decode()}")
        try:
            found = self._method.answers(proof.name, proof.token)
        except OSError as error:
            proof.problem = AcmeProblem("connection", f"{proof.name} does not answer: {error}").document
        else:
            if expected not in found:
                shown = ", ".join(repr(each[:100]) for each in sorted(found)) or "nothing"
                proof.problem = AcmeProblem("unauthorized", f"{proof.name} answers {shown}", 403).document
        proof.status = INVALID if proof.problem else VALID

    def _challenge_document(self, proof: AuthorizationState, url: str) -> dict[str, Any]:
        error = {"error": proof.problem} if proof.problem else {}
        return {"type": self._method.kind, "url": url, "token": proof.token, "status": proof.status, **error}

    def _issue_certificate(self, order: OrderState, payload: Any) -> str:
        if order.status != READY:
            raise AcmeProblem("orderNotReady", f"the order is {order.status}", 403)
        try:
            request = x509.load_der_x509_csr(b64decode(payload["csr"]))
            names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (TypeError, KeyError, ValueError, x509.ExtensionNotFound) as error:
            raise AcmeProblem("badCSR", "the certificate request cannot be read") from error
        if set(names.get_values_for_type(x509.DNSName)) != order.names or not request.is_signature_valid:
            raise AcmeProblem("badCSR", "the certificate request has other names than the order, or a wrong signature")
        return self._sign(request)


def _find_authorization(order: OrderState, numbers: list[str]) -> tuple[int, AuthorizationState]:
    place = int(numbers[1]) if len(numbers) == 2 and numbers[1].isdecimal() else -1
    if not 0 <= place < len(order.proofs):
        raise _unknown_object()
    return place, order.proofs[place]


def _unknown_object() -> AcmeProblem:
    return AcmeProblem("malformed", "there is no such object", 404)


def _json_response(status: int, body: Any, headers: Headers = ()) -> Response:
    kind = "application/problem+json" if status >= 400 else "application/json"
    return Response(status, json.dumps(body).encode(), (("Content-Type", kind), *headers))
