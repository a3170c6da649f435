"""Requests of a client over HTTP/2."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)

READ_BYTES = 65_536


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str, headers: Sequence[tuple[str, str]]
) -> tuple[str, str]:
    """Head and body of the answer, the head as HTTP/1 has it; both empty if the connection or its stream ends without
    one. ``headers``: with ``host``."""
    connection = H2Connection()
    connection.initiate_connection()
    connection.send_headers(1, _request(target, headers), end_stream=True)
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


async def statuses(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    target: str,
    headers: Sequence[tuple[str, str]],
    count: int,
) -> Counter[str]:
    """Statuses of the answers to ``count`` requests of one connection, as many at once as the server allows; fewer if
    the connection ends. A stream that is reset counts as an empty status."""
    connection = H2Connection()
    connection.initiate_connection()
    found: Counter[str] = Counter()
    status: dict[int, str] = {}
    unasked, allowed = count, 0
    while found.total() < count:
        while unasked and connection.open_outbound_streams < allowed:
            connection.send_headers(
                connection.get_next_available_stream_id(), _request(target, headers), end_stream=True
            )
            unasked -= 1
        writer.write(connection.data_to_send())
        received = await reader.read(READ_BYTES)
        if not received:
            break
        for event in connection.receive_data(received):
            if isinstance(event, RemoteSettingsChanged):
                allowed = connection.remote_settings.max_concurrent_streams
            elif isinstance(event, ResponseReceived):
                status[event.stream_id] = next(value.decode() for name, value in event.headers if name == b":status")
            elif isinstance(event, DataReceived):
                connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded | StreamReset):
                found[status.pop(event.stream_id, "")] += 1
    return found


def _request(target: str, headers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    host = next(value for name, value in headers if name.lower() == "host")
    pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", target)]
    return [*pseudo, *((name.lower(), value) for name, value in headers if name.lower() != "host")]


def _head(headers: Sequence[tuple[str, str]]) -> str:
    status = next(value for name, value in headers if name == ":status")
    return "\r\n".join((f"HTTP/2 {status}", *(f"{name}: {value}" for name, value in headers if name[0] != ":")))
