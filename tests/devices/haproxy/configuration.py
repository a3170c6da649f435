"""What HAProxy itself says of what was rendered."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.binary import SEARCH_PATH
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig, compose_config, load_balancer_sections
from evenkeel.haproxyd.haproxy.config.config_files import config_file_contents
from evenkeel.haproxyd.haproxy.config.layout import PartitionLayout
from evenkeel.haproxyd.settings import DaemonSettings
from tests.services.haproxy import configured_binary

HARMLESS = re.compile(r"^\[NOTICE\]")
HAPROXY = configured_binary() or shutil.which("haproxy", path=SEARCH_PATH)


def rendered(
    service: ServiceDefinition, contents: Mapping[str, CertificateContent] = MappingProxyType({})
) -> wire.LoadBalancerConfig:
    """What the daemon is to hold; fails if it cannot be rendered."""
    found = render_load_balancer(service, contents)
    assert found.load_balancer is not None, found.problem
    return found.load_balancer


def page(load_balancer: wire.LoadBalancerConfig) -> str:
    """All of a load balancer as people read it."""
    parts = [load_balancer_sections(load_balancer)]
    for backend in load_balancer.backends:
        if backend.ping is not None:
            parts.append(f"\n# ping of {backend.name}: {backend.ping}\n")
            parts.extend(
                f"# ping of {server.name}: at {server.ping_address}\n"
                for server in backend.servers
                if server.ping_address is not None
            )
    for file in load_balancer.files:
        what = f"{file.kind}, sha256 {file.sha256}" if file.sha256 else file.kind
        lines = "".join(f"# {line}\n" for line in file.content.splitlines())
        parts.append(f"\n# file {file.name} ({what})\n{lines}")
    return "".join((*parts, f"\n# note {load_balancer.note}\n"))


@contextmanager
def composed(load_balancers: Sequence[wire.LoadBalancerConfig]) -> Iterator[Path]:
    """The daemon's whole configuration, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="evenkeel-") as name:
        folder = Path(name)
        settings = DaemonSettings(name="here", state_dir=folder, run_dir=folder)
        layout = PartitionLayout(
            config_dir=folder,
            files_dir=folder,
            server_states=None,
            master_socket=folder / "m",
            worker_socket=folder / "w",
            peer_socket=folder / "p",
        )
        config = HaproxyConfig(load_balancers={one.id: one for one in load_balancers})
        for name, content in config_file_contents(config).items():
            (folder / name).write_text(content)
        (folder / "haproxy.cfg").write_text(compose_config("dev_a3f1c2", config, layout, settings))
        yield folder / "haproxy.cfg"


def verdict(*load_balancers: wire.LoadBalancerConfig, program: Path | str | None = HAPROXY) -> str:
    """What ``haproxy -c`` finds wrong; empty if nothing is, not even a warning."""
    assert program is not None
    with composed(load_balancers) as file:
        command = [program, "-c", "-dW", "-f", file]
        done = subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False)
    said = "\n".join(line for line in done.stderr.splitlines() if not HARMLESS.search(line))
    return said or ("" if done.returncode == 0 else f"exit code {done.returncode}")
