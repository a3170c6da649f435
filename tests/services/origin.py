"""``python -m tests.services.origin PROGRAM``, with a socket as standard input: has imported a program, and forks it
whenever asked. Only what the program imports and loads itself is imported here."""

import ctypes
import gc
import os
import runpy
import signal
import socket
import sys
import time
from importlib import import_module

import msgspec

IMPORTED = {
    "evenkeel.cmd.agent": ("evenkeel.cmd.agent",),
    "evenkeel.cmd.controller": ("evenkeel.cmd.controller", "evenkeel.cmd.controllers.controller_process"),
    "evenkeel.cmd.haproxyd": ("evenkeel.cmd.haproxyd",),
    "icontrol_emulator": ("icontrol_emulator.__main__",),
    "tests.equivalence.daemon": ("tests.equivalence.daemon",),
}
"""By program, what it imports whatever its options are."""
CALLED = {"evenkeel.cmd.controller": ("evenkeel.api.policy.defaults", "default_rules")}
"""By program, a module and a function of it that has plug-ins loaded, as the program does whatever its options are.
Those of oslo.policy are looked for in all installed distributions: a fifth of a second of CPU for each process."""
READY = b"ready"
REQUEST_BYTES = 1 << 20
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
ADOPTION_SECONDS = 60.0


class Request(msgspec.Struct):
    """What to start; the file descriptor of its log comes with it. ``parent``: pid of whoever asks, whose umask it
    gets."""

    parent: int
    umask: int
    arguments: list[str]
    environment: dict[str, str]


def serve(program: str, channel: socket.socket) -> None:
    """Fork whenever asked, until whoever asks is gone. Returns, too, in what was forked when its program has ended."""
    for module in IMPORTED[program]:
        import_module(module)
    if program in CALLED:
        module, function = CALLED[program]
        getattr(import_module(module), function)()
    for module in (program, f"{program}.__main__"):
        sys.modules.pop(module, None)  # it runs under another name
    gc.collect()
    gc.freeze()
    channel.send(READY)
    while True:
        content, logs, _, _ = socket.recv_fds(channel, REQUEST_BYTES, 1)
        if not content:
            return
        if (between := os.fork()) == 0:
            if os.fork():
                os._exit(0)  # so that what it has forked becomes a child of whoever asked
            run(program, msgspec.json.decode(content, type=Request), logs[0], channel)
            return
        os.close(logs[0])
        os.waitpid(between, 0)


def run(program: str, request: Request, log: int, channel: socket.socket) -> None:
    """Run the program in this process, which answers with its pid once it is a child of whoever asked."""
    os.setsid()
    deadline = time.monotonic() + ADOPTION_SECONDS
    while os.getppid() != request.parent and time.monotonic() < deadline:
        time.sleep(0.001)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != request.parent:  # it has ended
        os._exit(1)
    channel.send(str(os.getpid()).encode())
    channel.detach()
    nothing = os.open(os.devnull, os.O_RDWR)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(nothing)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    os.umask(request.umask)
    sys.argv[1:] = request.arguments
    runpy.run_module(program, run_name="__main__", alter_sys=True)


def prctl(option: int, value: int) -> None:
    """Linux's prctl(2). Raises OSError."""
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    serve(sys.argv[1], socket.socket(fileno=0))
