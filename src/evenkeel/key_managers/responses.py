"""Responses of key managers' HTTP APIs."""

import requests

_CHUNK_BYTES = 64 * 1024


def read_at_most(response: requests.Response, bytes_max: int) -> bytes:
    """Return the first ``bytes_max`` bytes of the body of a streamed response; the rest is not read. Raises
    :class:`requests.RequestException` if the connection fails.
    """
    content = bytearray()
    for chunk in response.iter_content(_CHUNK_BYTES):
        content += chunk
        # a response without a length must not fill the memory
        if len(content) >= bytes_max:
            break
    return bytes(content[:bytes_max])
