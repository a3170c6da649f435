"""UNIX sockets that only the daemon's user may use from their creation on, unless workers of other users need
them.
"""

import os
import socket
from pathlib import Path

OTHERS_WRITE_MODE = 0o622


def open_private_socket(path: Path, kind: socket.SocketKind, *, others_write: bool) -> socket.socket:
    """Open a non-blocking UNIX socket of this kind, bound to ``path``, with mode 0600, or 0622 with
    ``others_write`` (workers that run as other users connect or send to it). Raises :class:`OSError`.

    The umask is the whole process's, so nothing may be awaited while it is changed.
    """
    bound = socket.socket(socket.AF_UNIX, kind)
    umask = os.umask(0o177)
    try:
        bound.setblocking(False)
        bound.bind(str(path))
        if others_write:
            path.chmod(OTHERS_WRITE_MODE)
    except OSError:
        bound.close()
        raise
    finally:
        os.umask(umask)
    return bound
