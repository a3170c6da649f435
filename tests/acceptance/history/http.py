"""Requests of clients, over all controllers in turn, each with its outcome in the history."""

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from tests.acceptance.history.events import History

LBAAS = "/v2.0/lbaas"
REQUEST_SECONDS = 8.0
CONNECT_SECONDS = 2.0
PAGE = 1000
REASON_CHARACTERS = 300

Writes = Mapping[str, Any]


class Api:
    """The Octavia API as one client sees it. Nothing is repeated behind the caller's back but what was never sent."""

    def __init__(self, http: aiohttp.ClientSession, endpoints: Sequence[str], history: History, client: str) -> None:
        self._http = http
        self._endpoints = list(enumerate(endpoints, 1))
        self._turn = itertools.cycle(self._endpoints)
        self._history = history
        self._client = client

    async def write(
        self, method: str, path: str, body: Any = None, *, writes: Writes, replaces: str = ""
    ) -> tuple[int, Any]:
        """Send it once; again to the next controller only if it cannot have left. (0, …): no answer."""
        for number, url in itertools.islice(self._turn, len(self._endpoints)):
            request = next(_ids)
            self._history.add(
                "sent",
                id=request,
                client=self._client,
                endpoint=f"controller-{number}",
                method=method,
                path=path,
                writes=writes,
                replaces=replaces,
            )
            try:
                status, answer = await self._send(method, url + path, body)
            except aiohttp.ClientConnectorError as error:
                self._history.add("failed", id=request, status=0, reason=_words(error))
                continue
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                self._history.add("unknown", id=request, status=0, reason=_words(error))
                return 0, None
            self._note(request, status, answer)
            return status, answer
        return 0, None

    def _note(self, request: int, status: int, answer: Any) -> None:
        if 200 <= status < 300:
            self._history.add("acknowledged", id=request, status=status)
        else:
            kind = "unknown" if status >= 500 else "failed"
            self._history.add(kind, id=request, status=status, reason=_words(answer))

    async def read(self, path: str, **query: Any) -> Any:
        """One GET on the next controller; None if it was not answered 200. ``{}`` for 404."""
        _, url = next(self._turn)
        shown = {"limit": PAGE, **query} if query.pop("paged", True) else query
        try:
            status, answer = await self._send("GET", url + path, None, shown)
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None
        return answer if status == 200 else {} if status == 404 else None

    async def surely(self, path: str, **query: Any) -> Any:
        """Read until it is answered; {} for 404."""
        while True:
            answer = await self.read(path, **query)
            if answer is not None:
                return answer
            await asyncio.sleep(0.2)

    async def _send(self, method: str, url: str, body: Any, query: Any = None) -> tuple[int, Any]:
        async with self._http.request(method, url, json=body, params=query) as answer:
            content = await answer.read()
            return answer.status, (await answer.json() if content else None)


def session(request_seconds: float = REQUEST_SECONDS) -> aiohttp.ClientSession:
    """For all clients of one run."""
    timeout = aiohttp.ClientTimeout(total=request_seconds, sock_connect=CONNECT_SECONDS)
    return aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0))


def _words(reason: object) -> str:
    return repr(reason)[:REASON_CHARACTERS]


_ids = itertools.count(1)
