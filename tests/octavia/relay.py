"""The address of a database that fails over: it forwards connections to one server, and later to another one."""

import contextlib
import socket
import threading

CHUNK_BYTES = 1 << 16


class Relay:
    """Listens on a free port of 127.0.0.1 until :meth:`close`."""

    def __init__(self, to: int) -> None:
        """Initialize. ``to``: the port of the first server."""
        self._to = to
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def switch(self, to: int) -> None:
        """End all connections, and forward later ones to another server."""
        with self._lock:
            self._to = to
        self._end_all()

    def close(self) -> None:
        """End."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._end_all()

    def _end_all(self) -> None:
        with self._lock:
            for each in self._open:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._to)) as server:
            ends = {client, server}
            with self._lock:
                self._open |= ends
            try:
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()
            finally:
                with self._lock:
                    self._open -= ends


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Forward until one side ends, which ends the other."""
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            sink.sendall(data)
    for each in (source, sink):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
