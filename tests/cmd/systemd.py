"""A stand-in for systemd: what processes tell it."""

import select
import socket
import threading


class Systemd:
    """Listens as systemd does: it reads at once, as a socket holds few messages and the next ones are dropped."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self._socket.setblocking(False)
        self._lock = threading.Lock()
        self._told: list[str] = []
        self._closed = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        while not self._closed.is_set():
            select.select([self._socket], [], [], 0.1)
            self.heard()

    def heard(self) -> list[str]:
        """All lines so far."""
        with self._lock:
            try:
                while not self._closed.is_set():
                    self._told += self._socket.recv(4096).decode().splitlines()
            except BlockingIOError:
                pass
            return list(self._told)

    def close(self) -> None:
        """Ends the thread, too."""
        self._closed.set()
        self._listener.join()
        self._socket.close()
