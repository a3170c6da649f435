"""One plain HTTP request to a load balancer."""

import asyncio

LIMIT_SECONDS = 60.0


async def ask(
    where: tuple[str, int], path: str, *headers: str, host: str = "test", source: str | None = None
) -> tuple[str, str]:
    """Head and body of one answer on a connection of its own, from ``source``; nothing if it was refused."""
    writer = None
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            reader, writer = await asyncio.open_connection(*where, local_addr=source and (source, 0))
            start = (f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close")
            writer.write("\r\n".join((*start, *headers, "", "")).encode())
            head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
            return head, body
    except TimeoutError:  # an OSError, too
        raise
    except OSError:
        return "", ""
    finally:
        if writer is not None:
            writer.transport.abort()
