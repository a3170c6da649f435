"""Strict clients that do nothing but TLS handshakes, in threads, as fast as they can."""

import hashlib
import socket
import ssl
import threading
from collections import Counter
from types import TracebackType
from typing import Self

LIMIT_SECONDS = 60.0


class Handshakes:
    """Clients while the context is open. Each handshake is on a connection of its own, and is counted by the SHA-256 of
    the certificate that it showed, in DER; whatever goes wrong is a failure."""

    def __init__(self, address: str, port: int, name: str, context: ssl.SSLContext, *, clients: int = 2) -> None:
        self.shown: Counter[str] = Counter()
        self.failures: list[str] = []
        self._place = address, port
        self._name = name
        self._context = context
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run) for _ in range(clients)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with (
                    socket.create_connection(self._place, timeout=LIMIT_SECONDS) as raw,
                    self._context.wrap_socket(raw, server_hostname=self._name) as tls,
                ):
                    certificate = tls.getpeercert(binary_form=True) or b""
            except OSError as error:
                with self._lock:
                    self.failures.append(repr(error))
            else:
                with self._lock:
                    self.shown[hashlib.sha256(certificate).hexdigest()] += 1
