"""A small HTTP client of the operators' API: it knows several endpoints, and tries the next one when one is
down.

A request that may have been executed is repeated on another endpoint only if it is idempotent (GET, PUT,
DELETE). The only state is the endpoint that answered last. Threads may share a client.
"""

import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

API_PATH = "/evenkeel/v1"
"""Path of the operators' API below an endpoint."""

MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_REASON_CHARACTERS = 500
NO_TLS_REASONS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"})
"""OpenSSL's reasons, by version, for an answer that is not TLS."""
REPEATABLE_METHODS = frozenset({"GET", "PUT", "DELETE"})


class ClientError(Exception):
    """Base of the errors of :class:`Client` and of commands; the text is for the operator. ``exit_code``: the
    command's exit code.
    """

    exit_code = 1


class ApiRefused(ClientError):
    """The request was refused, failed at the server, or got an answer that is not usable; also for names that
    match no object or several. The text is the reason; ``status`` is an HTTP status, 0 for errors without
    one.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class UsageError(ClientError):
    """The command line, or a file or environment variable that it uses, is invalid; the command exits with
    code 2.
    """

    exit_code = 2


class EndpointsUnreachable(ClientError):
    """No endpoint answered, or a request that must not be repeated may have been executed; the command exits
    with code 3.
    """

    exit_code = 3


class NotFinishedInTime(ClientError):
    """The expected state was not reached in time; the request remains in effect, and the command exits with
    code 4.
    """

    exit_code = 4


class _EndpointDown(Exception):
    """An endpoint did not answer, or answered 503. ``executed``: whether the request may have been executed."""

    def __init__(self, reason: str, *, executed: bool) -> None:
        super().__init__(reason)
        self.executed = executed


class Client:
    """HTTP client of the operators' API. ``endpoints``: root URLs of controllers; ``timeout_seconds``: for
    the connection to an endpoint, and for each wait for data.

    ``login``: authentication headers, which are not sent to redirect targets.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        *,
        timeout_seconds: float = 10.0,
        login: Mapping[str, str] | None = None,
        ca_file: str | None = None,
        login_help: str = "",
    ) -> None:
        """Initialize the client. ``ca_file``: CA certificates instead of the system's; ``login_help``: advice added to
        the error for a 401. Raises :class:`UsageError` for an invalid endpoint or file.
        """
        self._endpoints = [parse_endpoint_url(item) for item in endpoints]
        if not self._endpoints:
            raise UsageError("no endpoint is given")
        self._timeout_seconds = timeout_seconds
        self._login = dict(login or {})
        self._login_help = login_help
        self._tls_context = _tls_context(ca_file) if ca_file else None

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Send a GET request; returns the decoded JSON. Raises :class:`ApiRefused`, and :class:`EndpointsUnreachable`
        if no endpoint answers.
        """
        return self.request("GET", path, query=query)

    def post(self, path: str, body: Any, *, timeout_seconds: float = 0.0) -> Any:
        """Send a POST request for which the server may take up to ``timeout_seconds``; returns the decoded
        JSON. Raises :class:`ApiRefused`, and :class:`EndpointsUnreachable` if no endpoint answers or the request
        may have been executed.
        """
        return self.request("POST", path, body=body, timeout_seconds=timeout_seconds)

    def put(self, path: str, body: Any = None) -> Any:
        return self.request("PUT", path, body=body)

    def delete(self, path: str, query: Mapping[str, Any] | None = None) -> None:
        self.request("DELETE", path, query=query)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        timeout_seconds: float = 0.0,
    ) -> Any:
        """Send a request; returns the decoded JSON, None if the answer has no body.

        ``timeout_seconds`` applies if it is longer than the client's. Raises :class:`ApiRefused`;
        :class:`EndpointsUnreachable` if no endpoint answered, or if a POST may have been executed.
        """
        problems = []
        for endpoint in self._endpoints:
            try:
                answer = self._send_once(
                    endpoint, method, path, query, body, max(timeout_seconds, self._timeout_seconds)
                )
            except _EndpointDown as error:
                problems.append(f"{endpoint}: {error}")
                if error.executed and method not in REPEATABLE_METHODS:
                    raise EndpointsUnreachable(f"{endpoint}: {error}; the request may have been carried out") from error
                continue
            self._prefer_endpoint(endpoint)
            return answer
        raise EndpointsUnreachable("no endpoint answers: " + "; ".join(problems))

    def _prefer_endpoint(self, endpoint: str) -> None:
        """Try this endpoint first from now on."""
        # A new list, because requests of other threads go through the present one.
        self._endpoints = sorted(self._endpoints, key=lambda other: other != endpoint)

    def _send_once(
        self, endpoint: str, method: str, path: str, query: Mapping[str, Any] | None, body: Any, timeout_seconds: float
    ) -> Any:
        url = f"{endpoint}{path}" + (f"?{urlencode(query, doseq=True)}" if query else "")
        # parse_endpoint_url() took http and https only
        request = urllib.request.Request(url, method=method, headers={"Accept": "application/json"})  # noqa: S310
        for name, value in self._login.items():
            request.add_unredirected_header(name, value)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with _make_opener(endpoint, self._tls_context).open(request, timeout=timeout_seconds) as answer:
                # One byte more than allowed shows that the answer is too large.
                content = answer.read(MAX_ANSWER_BYTES + 1)
        except urllib.error.HTTPError as error:
            # Before URLError, of which it is a subclass.
            raise _error_of_response(error, self._login_help) from error
        except urllib.error.URLError as error:  # raised before waiting for an answer
            raise _EndpointDown(_connection_error_text(error.reason, endpoint), executed=False) from error
        except (OSError, http.client.HTTPException) as error:
            raise _EndpointDown(_connection_error_text(error, endpoint), executed=True) from error
        return _decode_json(content)


def parse_endpoint_url(text: str) -> str:
    """Return the endpoint without a trailing slash. Raises :class:`UsageError` if it is no HTTP URL."""
    endpoint = text.strip().rstrip("/")
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"endpoint {text!r} is not a URL such as http://127.0.0.1:9876")
    return endpoint


def quote_segment(text: str) -> str:
    """Return ``text`` quoted for use as one segment of a URL path."""
    return quote(text, safe="")


def _tls_context(ca_file: str) -> ssl.SSLContext:
    """Return a TLS context that verifies servers with the CA certificates in this file. Raises :class:`UsageError` if
    it cannot be read or parsed.
    """
    try:
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError as error:
        raise UsageError(f"--cacert {ca_file}: not certificates in PEM form") from error
    except OSError as error:
        raise UsageError(f"--cacert {ca_file}: {error.strerror}") from error


def _make_opener(endpoint: str, tls: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    # proxy settings in the environment are not for loopback addresses
    local = urlsplit(endpoint).hostname in ("localhost", "::1") or endpoint.startswith("http://127.")
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})] if local else []
    if tls is not None:
        handlers.append(urllib.request.HTTPSHandler(context=tls))
    return urllib.request.build_opener(*handlers)


def _decode_json(content: bytes) -> Any:
    if len(content) > MAX_ANSWER_BYTES:
        raise ApiRefused(200, f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
    if not content:
        return None
    try:
        return json.loads(content)
    except ValueError as error:
        raise ApiRefused(200, "the endpoint answers something that is not JSON; is it Even Keel's?") from error


def _error_of_response(error: urllib.error.HTTPError, login_help: str) -> Exception:
    """Return the exception for a response with a status from 300 on: for 503 :class:`_EndpointDown` (the
    request may have been executed), else :class:`ApiRefused`.
    """
    with error:
        reason = _error_text(error.read(MAX_REASON_CHARACTERS * 8)) or error.reason
    if error.code == 503:
        # controllers also answer so after a commit or a question to an agent without an answer
        return _EndpointDown(f"503 {reason}", executed=True)
    if error.code == 401 and login_help:
        reason = f"{reason.rstrip('.')}; {login_help}"
    return ApiRefused(error.code, reason)


def _error_text(content: bytes) -> str:
    """Return the error text in a response, cut to 500 characters, whichever of the API's error bodies it is;
    empty if it has none.
    """
    try:
        body = json.loads(content)
    except ValueError:
        return ""
    if not isinstance(body, dict):
        return ""
    if isinstance(body.get("error"), dict):
        body = body["error"]
    text = body.get("faultstring") or body.get("description") or body.get("message") or body.get("title") or ""
    return str(text)[:MAX_REASON_CHARACTERS]


def _connection_error_text(error: object, endpoint: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}; --cacert FILE names other CA certificates"
    if isinstance(error, ssl.SSLError) and error.reason in NO_TLS_REASONS:
        return f"does not speak TLS; if it serves plain HTTP: {endpoint.replace('https:', 'http:', 1)}"
    if isinstance(error, http.client.RemoteDisconnected) and endpoint.startswith("http:"):
        return f"closed the connection without an answer; if it expects TLS: {endpoint.replace('http:', 'https:', 1)}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
