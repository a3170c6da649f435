"""iControl REST over HTTPS: one device, one user, a few connections.

Gives the guarantees of :mod:`evenkeel.devices.https`. Reads are retried while the device is busy, within a
deadline; a write is retried only if it was not sent, or after a response which shows that it was not carried
out. Errors are :class:`DeviceUnavailable` (state unknown) and :class:`DeviceRejected` (understood and
refused; :class:`ObjectAbsent` and :class:`ObjectExists` are subclasses).
"""

import asyncio
import functools
import itertools
import json
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from yarl import URL

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.tls.certificates import Secret
from evenkeel.devices.bigip.icontrol.login import DeviceLogin
from evenkeel.devices.bigip.icontrol.responses import (
    DecodedDocumentCache,
    DeviceBusy,
    LoginLost,
    ObjectAbsent,
    parse_document,
    response_error,
)
from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.errors import NoAnswer, RequestNotSent
from evenkeel.devices.https import HttpsTransport

T = TypeVar("T")
UPLOAD_BYTES_MAX = 512 * 1024
"""Size in bytes of one upload request; devices accept at most 1 MiB."""
REQUEST_RETRY = Backoff(initial_seconds=0.1, max_seconds=1.5, jitter=(0.5, 1.0))
CONNECTION_ATTEMPTS_MAX = 3
ECHO_PATH = "/mgmt/shared/echo-query"
"""Path that the REST server answers itself, even while a long commit blocks the configuration."""
PROBE_PATH = "/mgmt/tm/cm/device"
PAGES_MAX = 1_000
EXPANDED_ITEMS_MAX = 200
"""Items per page when subcollections are expanded. Devices need about 60 s for some hundred such items, and then time
out.
"""


class IControl:
    """Client of one device's REST interface; connects on first use. Raises :class:`ValueError` if ``ca_file`` cannot be
    used.
    """

    def __init__(
        self,
        host: str,
        options: BigIpOptions,
        tls: ssl.SSLContext | None = None,
        *,
        https: HttpsTransport | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.host = host
        self._options = options
        self._https = https or HttpsTransport(host, options, tls, requests_max=options.connections_max, now=now)
        self._login = DeviceLogin(host, options, self._https, now)
        self._remembered = DecodedDocumentCache()

    # -- public methods

    def use_credentials(self, options: BigIpOptions, tls: ssl.SSLContext) -> None:
        """Use these credentials and this TLS context from now on; a token that the device still accepts stays
        in use.
        """
        self._options = options
        self._https.use_tls_context(tls)
        self._login.use_credentials(options)

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """Read one document; retries while the device is busy or the connection breaks, within
        ``retry_seconds``.

        Raises :class:`DeviceRejected`, of which :class:`ObjectAbsent` if there is no such object, and
        :class:`DeviceUnavailable`.
        """
        return await self._run_with_retries(lambda: self.send("GET", path, query=query), _can_repeat_read)

    async def get_with_cached_decoding(self, path: str) -> dict[str, Any]:
        """Read one document; returns and raises as :meth:`get`. If the response equals the previous one, the
        same object is returned, which callers must not change.
        """
        return await self._read_with_cached_decoding(self._remembered, path)

    async def collection(
        self,
        path: str,
        *,
        partition: str = "",
        expand: bool = False,
        documents: DecodedDocumentCache | None = None,
        **query: str,
    ) -> list[Any]:
        """Read the items of all pages of a collection; ``partition``: only that partition's, none if it does
        not exist.

        ``expand``: include subcollections, in pages of :data:`EXPANDED_ITEMS_MAX`. ``documents``: pages of
        earlier reads; items of a page that equals its previous one are the same objects, which callers must
        not change. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
        """
        read = self.get if documents is None else functools.partial(self._read_with_cached_decoding, documents)
        return await self._read_collection(read, path, partition, query, expand=expand)

    async def collection_with_cached_decoding(self, path: str, *, expand: bool = False) -> list[Any]:
        """Read a collection; returns and raises as :meth:`collection`. Items of a page that equals the
        previous one are the same objects, which callers must not change.
        """
        return await self.collection(path, expand=expand, documents=self._remembered)

    async def _read_with_cached_decoding(
        self, documents: DecodedDocumentCache, path: str, **query: str
    ) -> dict[str, Any]:
        return await self._run_with_retries(
            lambda: self.send("GET", path, query=query, documents=documents), _can_repeat_read
        )

    async def _read_collection(
        self,
        read: Callable[..., Awaitable[dict[str, Any]]],
        path: str,
        partition: str,
        query: dict[str, str],
        *,
        expand: bool,
    ) -> list[Any]:
        if partition:
            query["$filter"] = f"partition eq {partition}"
        if expand:
            query |= {"expandSubcollections": "true", "$top": str(EXPANDED_ITEMS_MAX)}
        found: list[Any] = []
        try:
            answer = await read(f"/mgmt/tm/{path}", **query)
        except ObjectAbsent:
            if partition:
                return []
            raise
        for _ in range(PAGES_MAX):
            items = answer.get("items", [])
            # An empty collection has a kind and no items; any other document must not be taken for an empty collection.
            if not isinstance(items, list) or "kind" not in answer:
                raise DeviceUnavailable(self.host, f"answered something else than the collection {path}")
            found.extend(item for item in items if isinstance(item, dict))
            if not answer.get("nextLink"):
                return found
            # Only the query of the link is used: its host is localhost, as the device sees itself.
            page = query | dict(URL(str(answer["nextLink"])).query)
            answer = await read(f"/mgmt/tm/{path}", **page)
        raise DeviceUnavailable(self.host, f"collection {path} has more than {PAGES_MAX} pages")

    async def write(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        transaction: str = "",
        timeout_seconds: float | None = None,
        secrets: Mapping[str, Secret] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """Send one write and return the document in the response. The write is repeated only if the device
        answers that it did nothing, or no connection could be made.

        ``transaction``: number of the transaction that queues the write; ``secrets``: further attributes of
        the body, which no error repeats. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
        """
        headers = {"X-F5-REST-Coordination-Id": transaction} if transaction else {}
        return await self._run_with_retries(
            lambda: self.send(
                method, path, body=body, headers=headers, timeout_seconds=timeout_seconds, secrets=secrets
            ),
            _can_repeat_write,
        )

    async def upload(self, name: str, content: bytes) -> None:
        """Upload a file, replacing a file of the same name; the caller must remove it later. Raises
        :class:`DeviceRejected`, :class:`DeviceUnavailable`.

        An upload is not part of a transaction and not protected by the partition's guard.
        """
        path = f"/mgmt/shared/file-transfer/uploads/{name}"
        for start in range(0, len(content), UPLOAD_BYTES_MAX):
            part = content[start : start + UPLOAD_BYTES_MAX]
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Range": f"{start}-{start + len(part) - 1}/{len(content)}",
            }
            send = functools.partial(self.send, "POST", path, content=part, headers=headers)
            await self._run_with_retries(send, _can_repeat_write)

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        documents: DecodedDocumentCache | None = None,
        secrets: Mapping[str, Secret] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """Send one authenticated request and return the document in the response; retried once with a new
        token if the old one is refused.

        ``content`` is sent unchanged, ``body`` as JSON, with ``secrets`` among its attributes. ``documents``:
        earlier responses; one that equals the previous one gives the same object. Raises
        :class:`DeviceRejected`, :class:`DeviceUnavailable`.
        """
        target = str(URL(path, encoded=True).with_query(query)) if query else path
        revealed = {name: secret.reveal() for name, secret in secrets.items()}
        whole = {**(body or {}), **{name: text.decode() for name, text in revealed.items()}}
        sent = content if body is None else json.dumps(whole).encode()
        for attempt in (1, 2):
            login = await self._login.headers()
            status, answer = await self._https.exchange(
                method,
                target,
                sent,
                headers={**(headers or {}), **login},
                timeout_seconds=timeout_seconds or self._options.request_timeout_seconds,
            )
            if status != 401:
                break
            self._login.record_refusal(login)
            # The token was renewed after the first 401, so a second one is not about an expired token.
            if attempt == 2:
                break
        if status in (200, 202):
            return parse_document(answer) if documents is None else documents.decoded_document(target, answer)
        raise response_error(self.host, status, answer, hidden=(content or b"", *revealed.values()))

    async def probe(self, timeout_seconds: float) -> None:
        """Check that the device's configuration responds within the time limit. Raises
        :class:`DeviceUnavailable`, :class:`DeviceRejected`.
        """
        await self.send("GET", PROBE_PATH, timeout_seconds=timeout_seconds)

    @property
    def seconds_since_answer(self) -> float:
        """Return the seconds since the device's last response of any kind, or since this client was created."""
        return self._https.seconds_since_answer

    async def is_alive(self, timeout_seconds: float) -> bool:
        """Whether the device responds within the time limit, with any status.

        The check uses its own connection, so it does not queue behind other requests.
        """
        # Without a token the device answers 401, which also shows that it is alive.
        headers = self._login.current_headers()
        return await self._https.is_responding(ECHO_PATH, timeout_seconds=timeout_seconds, headers=headers)

    async def close(self) -> None:
        """Delete the token and disconnect. A failing device raises nothing here."""
        await self._login.log_out()
        await self._https.close()

    # -- implementation

    async def _run_with_retries(
        self, work: Callable[[], Awaitable[T]], again: Callable[[DeviceUnavailable, int], bool]
    ) -> T:
        """Run ``work`` and return its result; after a :class:`DeviceUnavailable` repeat it, with growing
        pauses, while ``again(error, attempts)`` is true and the deadline of ``retry_seconds`` allows.
        Raises the last error.
        """
        deadline = time.monotonic() + self._options.retry_seconds
        for attempt in itertools.count(1):
            pause = REQUEST_RETRY.delay_seconds(attempt, random.uniform)
            try:
                return await work()
            except DeviceUnavailable as error:
                if not again(error, attempt) or time.monotonic() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")


def _can_repeat_read(error: DeviceUnavailable, attempt: int) -> bool:
    if isinstance(error, DeviceBusy):
        return True
    return attempt < CONNECTION_ATTEMPTS_MAX and not isinstance(error, LoginLost | NoAnswer)


def _can_repeat_write(error: DeviceUnavailable, attempt: int) -> bool:
    # A request that was not sent has changed nothing.
    return isinstance(error, DeviceBusy) or (isinstance(error, RequestNotSent) and attempt < CONNECTION_ATTEMPTS_MAX)
