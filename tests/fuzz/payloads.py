"""What strangers send: pure, from a seeded source of chance."""

import base64
import random
from collections.abc import Callable, Sequence

PATHS = (
    "/v2/lbaas/loadbalancers",
    "/v2.0/lbaas/pools?name=x",
    "/evenkeel/v1/agents",
    "/neutron/v2.0/lbaas/listeners",
    "/v1/observation",
    "/v1/partitions/p1",
    "/",
    "*",
    "http://127.0.0.1/x",
    "/%00%ff/../..",
)
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "CONNECT", "TRACE", "PRI", "GE T")

Make = Callable[[random.Random], bytes]


def request(chance: random.Random) -> bytes:
    """A request that is right as HTTP goes, and of nobody's."""
    name = base64.b64encode(f"agent-{chance.randrange(9)}:guess {chance.random()}".encode()).decode()
    login = chance.choice(("", f"Authorization: Basic {name}\r\n", "X-Auth-Token: x\r\n"))
    body = chance.choice((b"", b"{}", b"[" * 200, b'{"loadbalancer": {"name": 1e400}}', chance.randbytes(50)))
    head = (
        f"{chance.choice(METHODS)} {chance.choice(PATHS)} HTTP/1.{chance.randrange(2)}\r\nHost: x\r\n{login}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def noise(chance: random.Random) -> bytes:
    """No HTTP."""
    return chance.randbytes(chance.choice((1, 10, 1000, 20_000)))


def spoiled(chance: random.Random) -> bytes:
    """A request with some bytes changed, left out or twice."""
    data = bytearray(request(chance))
    for _ in range(chance.randrange(1, 8)):
        at = chance.randrange(len(data))
        if chance.random() < 0.5:
            data[at] = chance.randrange(256)
        else:
            data[at : at + chance.randrange(10)] = data[at : at + 3] * chance.randrange(3)
    return bytes(data) or b"\0"


def half(chance: random.Random) -> bytes:
    """The beginning of a request."""
    data = request(chance)
    return data[: chance.randrange(1, len(data))]


def chunked(chance: random.Random) -> bytes:
    """Chunks of wrong sizes."""
    head = b"POST /v2/lbaas/loadbalancers HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = (b"5\r\nabc\r\n", b"-1\r\n", b"fffffffffffffffff\r\n", b"0x5\r\nabcde\r\n", b"3;" + b"x" * 9000, b"0\r\n")
    return head + b"".join(chance.choices(chunks, k=chance.randrange(1, 6)))


def huge_header(chance: random.Random) -> bytes:
    """A line or a target that goes on and on, or lines without end."""
    size = chance.choice((20_000, 200_000, 2_000_000))
    return chance.choice(
        (
            b"GET /" + b"a" * size,
            b"GET / HTTP/1.1\r\nA: " + b"a" * size,
            b"GET / HTTP/1.1\r\n" + b"a" * size,
            b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * (size // 6),
            b"GET /?" + b"a=b&" * (size // 4) + b" HTTP/1.1\r\n\r\n",
        )
    )


def smuggled(chance: random.Random) -> bytes:
    """A body whose length is said in two ways, with a request in it."""
    inner = b"GET /evenkeel/v1/agents HTTP/1.1\r\nHost: x\r\n\r\n"
    lengths = (
        b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(inner),
        b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(inner),
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n",
        b"Content-Length: +%d\r\n" % len(inner),
        b"Content-Length : 3\r\n",
    )
    return b"POST / HTTP/1.1\r\nHost: x\r\n" + chance.choice(lengths) + b"\r\n0\r\n\r\n" + inner


def pipelined(chance: random.Random) -> bytes:
    """Many requests in one go."""
    return request(chance) * chance.choice((3, 30, 500))


def promised(chance: random.Random) -> bytes:
    """A body that is announced and does not come."""
    length = chance.choice((10, 10**6, 10**12, 10**30))
    expect = chance.choice(("", "Expect: 100-continue\r\n"))
    return f"POST /v2/lbaas/pools HTTP/1.1\r\nHost: x\r\n{expect}Content-Length: {length}\r\n\r\n".encode()


def upgraded(chance: random.Random) -> bytes:
    """Another protocol is asked for."""
    to = chance.choice(("websocket", "h2c"))
    return f"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: {to}\r\n\r\n".encode() + chance.randbytes(20)


def bad_tls(chance: random.Random) -> bytes:
    """A handshake that never ends, or records that are none."""
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(32)
    return chance.choice((hello, b"\x16\x03\x01\xff\xff" + chance.randbytes(900), b"\x15\x03\x03\x00\x02\x02\x28"))


HTTP: Sequence[Make] = (
    request,
    noise,
    spoiled,
    half,
    chunked,
    huge_header,
    smuggled,
    pipelined,
    promised,
    upgraded,
)
