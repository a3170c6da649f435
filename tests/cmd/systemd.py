"""A stand-in for systemd: what processes tell it."""

import socket


class Systemd:
    """Listens as systemd does."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self._socket.setblocking(False)
        self.told: list[str] = []

    def heard(self) -> list[str]:
        """All lines so far."""
        while True:
            try:
                self.told += self._socket.recv(4096).decode().splitlines()
            except BlockingIOError:
                return self.told

    def close(self) -> None:
        self._socket.close()
