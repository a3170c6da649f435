"""Finds the addresses on which a HAProxy worker listens: the worker hands over copies of its listening sockets.

Workers do so for the worker that replaces them (``expose-fd listeners``; HAProxy's source, ``_getsocks`` of ``cli.c``,
the same in 2.6 to 3.2). Unlike ``/proc/<pid>/fd``, this needs no capability where workers run as another user.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.network.binds import BindAddress, bind_address

LISTENING_SOCKETS_MAX = 100_000
_DESCRIPTORS_PER_MESSAGE_MAX = 253
"""Maximum number of descriptors in one message (SCM_MAX_FD, unix(7))."""
_SOCKET_NAMES_BYTES = 1 << 16
"""Buffer for the namespace and interface of each socket, which are not used."""
_COUNT_STRUCT = struct.Struct("=i")


def listening_addresses(worker_socket: Path, timeout_seconds: float) -> frozenset[BindAddress]:
    """Return the addresses and ports on which the worker listens for TCP. Blocks, at most ``timeout_seconds``
    for each read. Raises :class:`HaproxyDown` if the worker does not hand over its sockets.
    """
    try:
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as worker:
            worker.settimeout(timeout_seconds)
            worker.connect(str(worker_socket))
            worker.sendall(b"_getsocks\n")
            return frozenset(_listening_addresses(worker))
    except OSError as error:
        raise HaproxyDown(f"HAProxy does not hand over its sockets: {error.strerror or error}") from error


def _listening_addresses(worker: socket.socket) -> Iterator[BindAddress]:
    """Yield address and port of each listening TCP socket that the worker hands over. Raises
    :class:`HaproxyDown` if their number is implausible or some are missing, :class:`OSError`.
    """
    head, missing = b"", -1
    while missing:
        data, descriptors, _, _ = socket.recv_fds(worker, _SOCKET_NAMES_BYTES, _DESCRIPTORS_PER_MESSAGE_MAX)
        # Each copy is closed at once: while one is open, the address stays bound.
        names = [_read_address_and_close(descriptor) for descriptor in descriptors]
        yield from (name for name in names if name is not None)
        if missing < 0:  # the count comes first, alone or together with the first sockets
            head += data
            if len(head) >= _COUNT_STRUCT.size:
                missing = _socket_count(head)
        if not data:
            raise HaproxyDown("HAProxy handed over some of its sockets only")
        missing -= len(names)


def _socket_count(head: bytes) -> int:
    count: int = _COUNT_STRUCT.unpack_from(head)[0]
    if not 0 <= count <= LISTENING_SOCKETS_MAX:
        raise HaproxyDown(f"HAProxy hands over {count} sockets; at most {LISTENING_SOCKETS_MAX} are expected")
    return count


def _read_address_and_close(descriptor: int) -> BindAddress | None:
    """Close the descriptor of a socket and return its address; None: it is no listening TCP socket."""
    with closing(socket.socket(fileno=descriptor)) as one:
        if one.family not in (socket.AF_INET, socket.AF_INET6) or one.type != socket.SOCK_STREAM:
            return None
        address, port = one.getsockname()[:2]
        return bind_address(address.partition("%")[0], port)
