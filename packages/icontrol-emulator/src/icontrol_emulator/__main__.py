"""The command line: `icontrol-emulator`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import structlog

from icontrol_emulator import __version__
from icontrol_emulator.config.releases import RELEASES, USUAL
from icontrol_emulator.device import DeviceSpec
from icontrol_emulator.emulator import Emulator
from icontrol_emulator.latency import latency_named
from icontrol_emulator.rest import extensions
from icontrol_emulator.tls import TlsFiles

_DESCRIPTION = """\
BIG-IP devices that answer iControl REST as TMOS 16.1 does, and carry traffic through their virtual servers.
Runs until SIGTERM or SIGINT. STATE_DIR/endpoints.json has the URLs of the devices and of the control API, by which
tests inject faults, restart devices and read what was written, and the file of the certificate authority."""
_EPILOG = """\
examples:
  icontrol-emulator --state-dir /tmp/bigip --device bigip-1@127.0.0.1:8443
  icontrol-emulator --state-dir /tmp/bigip --devices 2 --ha pair --latency realistic --user admin:secret"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    asyncio.run(_run(options))
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    parser = argparse.ArgumentParser(
        prog="icontrol-emulator", description=_DESCRIPTION, epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument(
        "--device",
        type=_device,
        action="append",
        metavar="NAME@HOST:PORT",
        help="a device and where it listens; NAME alone: a free port on 127.0.0.1; may be repeated",
    )
    parser.add_argument("--state-dir", type=Path, required=True, help="folder of certificates and endpoints.json")
    parser.add_argument(
        "--user",
        type=_pair,
        action="append",
        metavar="NAME:PASSWORD",
        help="an administrator; default: admin:admin; may be repeated",
    )
    parser.add_argument(
        "--ha",
        choices=("standalone", "pair", "cluster"),
        default="standalone",
        help="pair and cluster: the devices are one device group; default: standalone",
    )
    parser.add_argument(
        "--tmos", choices=tuple(RELEASES), default=USUAL.version, help=f"the devices' release; default: {USUAL.version}"
    )
    parser.add_argument("--devices", type=int, metavar="N", help="N devices, bigip-1 to bigip-N, instead of --device")
    parser.add_argument("--vcmp-host", default="", metavar="NAME", help="a vCMP host; the other devices are its guests")
    parser.add_argument(
        "--extension",
        action="append",
        default=[],
        metavar="NAME",
        choices=(names := extensions.installed_names()),
        help=f"an iControl LX extension of the devices; installed: {', '.join(names) or 'none'}; may be repeated",
    )
    parser.add_argument("--latency", type=_latency, default="none", help="none, realistic, or such as 30ms")
    parser.add_argument("--no-data-plane", action="store_true", help="carry no traffic, probe no members")
    parser.add_argument(
        "--control",
        type=_address,
        default=("127.0.0.1", 0),
        metavar="HOST:PORT",
        help="where the control API listens; default: a free port on 127.0.0.1",
    )
    parser.add_argument("--cert", type=Path, help="certificate of the devices; default: one is made")
    parser.add_argument("--key", type=Path, help="its private key")
    parser.add_argument("--ca", type=Path, help="what clients are to trust; default: the certificate file")
    parser.add_argument("--transactions-max", type=int, default=50, help="open transactions per device")
    parser.add_argument("--monitor-scale", type=float, default=1.0, help="factor of all times of monitors")
    return parser


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]") or "127.0.0.1", int(port)


def _device(text: str) -> DeviceSpec:
    name, at, rest = text.partition("@")
    return DeviceSpec(name, *_address(rest)) if at else DeviceSpec(name)


def _latency(text: str) -> str:
    try:
        latency_named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _pair(text: str) -> tuple[str, str]:
    name, colon, password = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError("NAME:PASSWORD is expected")
    return name, password


def _names(count: int) -> list[str]:
    return [f"bigip-{number}" for number in range(1, count + 1)]


async def _run(options: argparse.Namespace) -> None:
    files = None
    if options.cert and options.key:
        files = TlsFiles(options.cert, options.key, options.ca or options.cert)
    emulator = Emulator(
        options.device or _names(options.devices or 1), users=dict(options.user or [("admin", "admin")]), ha=options.ha,
        latency=options.latency, data_plane=not options.no_data_plane, state_dir=options.state_dir,
        control=options.control, tls_files=files, open_transactions_max=options.transactions_max,
        monitor_scale=options.monitor_scale, vcmp_host=options.vcmp_host, version=options.tmos,
        extensions=[extensions.installed()[name] for name in options.extension],
    )  # fmt: skip
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with emulator:
        await asyncio.to_thread(_publish, options.state_dir / "endpoints.json", emulator)
        await stopping.wait()


def _publish(path: Path, emulator: Emulator) -> None:
    """Write atomically, so that a process that waits for the file never reads a part of it."""
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(emulator.endpoints())))
    temporary.replace(path)


if __name__ == "__main__":
    sys.exit(main())
