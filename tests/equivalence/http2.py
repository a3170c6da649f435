"""One request of a client over HTTP/2."""

import asyncio
from collections.abc import Sequence

from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset

READ_BYTES = 65_536


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str, headers: Sequence[tuple[str, str]]
) -> tuple[str, str]:
    """Head and body of the answer, the head as HTTP/1 has it; both empty if the connection or its stream ends without
    one. ``headers``: with ``host``."""
    connection = H2Connection()
    connection.initiate_connection()
    host = next(value for name, value in headers if name.lower() == "host")
    pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", target)]
    others = [(name.lower(), value) for name, value in headers if name.lower() != "host"]
    connection.send_headers(1, [*pseudo, *others], end_stream=True)
    head, body = "", b""
    while True:
        writer.write(connection.data_to_send())
        received = await reader.read(READ_BYTES)
        if not received:
            return head, body.decode("latin-1")
        for event in connection.receive_data(received):
            if isinstance(event, ResponseReceived):
                head = _head([(name.decode(), value.decode()) for name, value in event.headers])
            elif isinstance(event, DataReceived):
                body += event.data
                connection.acknowledge_received_data(event.flow_controlled_length, 1)
            elif isinstance(event, StreamEnded):
                return head, body.decode("latin-1")
            elif isinstance(event, StreamReset | ConnectionTerminated) and event.error_code != ErrorCodes.NO_ERROR:
                return "", ""


def _head(headers: Sequence[tuple[str, str]]) -> str:
    status = next(value for name, value in headers if name == ":status")
    return "\r\n".join((f"HTTP/2 {status}", *(f"{name}: {value}" for name, value in headers if name[0] != ":")))
