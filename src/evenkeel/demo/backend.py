"""``python -m evenkeel.demo.backend NAME PORT_FILE PORT``: a web server on 127.0.0.1 that answers with its name.

PORT 0 takes a free one; the port is written to PORT_FILE once it listens.
"""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

MAX_REQUEST_BYTES = 16 * 1024
IDLE_SECONDS = 60.0


def http_response(name: str) -> bytes:
    """Return the encoded HTTP response to every request, with the backend's name as its body."""
    body = f"{name}\n".encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve_backend(name: str, port_file: Path, port: int) -> None:
    """Answer HTTP requests on 127.0.0.1 with the backend's name until SIGTERM; writes the port to
    ``port_file``. ``port`` 0: a free one. Raises :class:`OSError` if the port is taken.
    """
    answer = http_response(name)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # end of the stream, time-out or an invalid request: close in all cases
        with contextlib.suppress(OSError, EOFError, asyncio.LimitOverrunError, TimeoutError):
            while True:
                async with asyncio.timeout(IDLE_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(answer)
                    await writer.drain()
                if not keeps_alive(head):
                    break
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", port, limit=MAX_REQUEST_BYTES)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    write_port_file(port_file, server.sockets[0].getsockname()[1])
    await stop.wait()
    server.close()


def keeps_alive(head: bytes) -> bool:
    """Whether the client that sent this request header wants to keep the connection open."""
    lowered = head.lower()
    return b"http/1.1" in lowered.split(b"\r\n", 1)[0] and b"connection: close" not in lowered


def write_port_file(port_file: Path, port: int) -> None:
    """Write the port to the file atomically, for processes that wait for the file."""
    partial = port_file.with_suffix(".partial")
    partial.write_text(f"{port}\n")
    partial.replace(port_file)


if __name__ == "__main__":
    asyncio.run(serve_backend(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
