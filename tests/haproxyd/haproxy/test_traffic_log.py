"""Lines about tenants' requests and connections, from a real HAProxy to a syslog server."""

import asyncio
import socket

import msgspec

from tests.haproxyd.world import errors, free_vip, get, load_balancer, world
from tests.waiting import eventually


class SyslogServer(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.lines.append(data.decode())


async def test_each_request_is_a_line_that_names_the_project_and_no_header() -> None:
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        SyslogServer, local_addr=("127.0.0.1", 0), family=socket.AF_INET
    )
    port = transport.get_extra_info("sockname")[1]
    try:
        async with world(traffic_log=f"127.0.0.1:{port}") as made:
            member = await made.member("alice")
            web, plain = free_vip(), free_vip()
            tcp = load_balancer("lb2", plain, member, lines=("mode tcp",), backend_lines=("mode tcp",))
            for partition, balancer in (("dev_one", load_balancer("lb1", web, member)), ("dev_two", tcp)):
                assert errors(await made.put(partition, msgspec.structs.replace(balancer))) == {}
            assert await get(web) == "alice"
            assert await get(plain) == "alice"
            await eventually(lambda: len([line for line in server.lines if "_b/" in line]) == 2)
            first, second = sorted((line for line in server.lines if "_b/" in line), key=lambda line: "dev_two" in line)
            assert " dev_one " in first and "lb1_f lb1_b/alice" in first and '"GET / HTTP/1.1"' in first
            assert " dev_two " in second and "lb2_f lb2_b/alice" in second and "GET" not in second
    finally:
        transport.close()
