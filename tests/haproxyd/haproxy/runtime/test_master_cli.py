import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.runtime.master_cli import MasterCli, encode_request, encode_requests, parse_processes
from tests.listening import StreamServer

PROCESSES = """#<PID>          <type>          <reloads>       <uptime>        <version>
1088            master          3 [failed: 1]   0d00h00m02s     2.6.12-1+deb12u4
# workers
1196            worker          0               0d00h00m01s     2.6.12-1+deb12u4
# old workers
1127            worker          2               0d00h00m11s     2.6.12-1+deb12u4
1101            worker          3               0d00h00m12s     2.6.12-1+deb12u4
# programs

"""


def test_tells_the_worker_from_those_that_leave():
    seen = parse_processes(PROCESSES)
    assert (seen.master_pid, seen.reloads, seen.worker_pid) == (1088, 3, 1196)
    assert seen.workers_leaving == (1127, 1101)


def test_the_worker_that_goes_on_after_a_refused_reload_may_be_listed_as_old():
    current = "1196            worker          0"
    lines = PROCESSES.replace("# old workers\n", "").replace(current, f"# old workers\n{current[:-1]}1")
    seen = parse_processes(lines)
    assert (seen.worker_pid, seen.workers_leaving) == (1196, (1127, 1101))


@given(st.text(max_size=40))
def test_a_command_is_one_line_and_one_command(text):
    with contextlib.suppress(ValueError):
        sent = encode_request(f"set server {text} state ready")
        assert sent.count(b"\n") == 1 and not set(b";\\<\"'") & set(sent)


@given(st.text(max_size=80))
def test_a_payload_has_no_empty_line_that_would_end_it(text):
    with contextlib.suppress(ValueError):
        sent = encode_request("set ssl cert a.pem", text)
        assert not text or (sent.endswith(b"\n\n") and b"\n\n" not in sent[:-1])


@pytest.mark.parametrize("text", ["show info;show stat", "show\ninfo", "show info <<", "", " show info", "a\\ b"])
def test_text_that_could_become_two_commands_is_refused(text):
    with pytest.raises(ValueError, match="not a command"):
        encode_request(text)


def test_many_commands_go_in_as_few_requests_as_they_fit_in():
    assert list(encode_requests([])) == []
    assert list(encode_requests(["show info", "show stat"])) == [b"@1 show info;@1 show stat\n"]
    assert list(encode_requests(["show info", "show stat"], worker="@!12")) == [b"@!12 show info;@!12 show stat\n"]
    texts = [f"show ssl cert {number:03}.pem" for number in range(1000)]
    requests = list(encode_requests(texts))
    assert len(requests) == 4 and max(map(len, requests)) <= 8001 + 1
    assert b"".join(requests).replace(b"\n", b";").decode() == "".join(f"@1 {text};" for text in texts)
    with pytest.raises(ValueError, match="not a command"):
        list(encode_requests(["show info;show stat"]))


@contextlib.asynccontextmanager
async def master(path, answer: bytes):
    """Something that gives one answer, whatever is asked."""

    async def serve(reader, writer):
        await reader.read()
        writer.write(answer)
        writer.close()

    async with await StreamServer.start_unix(serve, path):
        yield MasterCli(path, timeout_seconds=20, answer_bytes_max=1000)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"1 b_1 77 s1 127.0", "was cut"),
        (b"x" * 1001 + b"\n", "over 1000 bytes"),
        (b"Can't find the target CLI!\n", "no worker"),
    ],
)
async def test_an_answer_that_is_none_reports_it(tmp_path, answer, reason):
    async with master(tmp_path / "m", answer) as cli:
        with pytest.raises(HaproxyDown, match=reason):
            await cli.command("show servers state")


async def test_missing_socket_is_haproxy_down(tmp_path):
    with pytest.raises(HaproxyDown, match="does not answer"):
        await MasterCli(tmp_path / "m", timeout_seconds=20, answer_bytes_max=1000).command("show info")


async def test_no_answer_in_time_reports_it(tmp_path):
    never = asyncio.Event()

    async def serve(reader, writer):
        await never.wait()
        writer.close()

    async with await StreamServer.start_unix(serve, tmp_path / "m"):
        with pytest.raises(HaproxyDown, match="did not answer in"):
            await MasterCli(tmp_path / "m", timeout_seconds=0.1, answer_bytes_max=1000).command("show info")
        never.set()


async def test_commands_wait_while_the_master_reloads(tmp_path):
    async with master(tmp_path / "m", b"fine\n") as cli:
        async with cli.exclusive():
            asked = asyncio.create_task(cli.command("show info"))
            await asyncio.sleep(0)
            assert await cli.master_command("reload") == "fine\n"
            assert not asked.done()
        assert await asked == "fine\n"


@pytest.mark.parametrize("turns", range(12))
async def test_cancelled_command_ends_at_whatever_turn_of_the_event_loop(tmp_path, turns):
    never = asyncio.Event()

    async def serve(reader, writer):
        await never.wait()
        writer.close()

    async def ask_again_and_again(cli):
        with contextlib.suppress(HaproxyDown):
            await cli.command("show info")
        await never.wait()

    async with await StreamServer.start_unix(serve, tmp_path / "m"):
        cli = MasterCli(tmp_path / "m", timeout_seconds=20, answer_bytes_max=1000)
        asking = asyncio.create_task(ask_again_and_again(cli))
        for _ in range(turns):
            await asyncio.sleep(0)
        asking.cancel()
        async with asyncio.timeout(5):
            await asyncio.wait([asking])
        assert asking.cancelled()
        never.set()
