"""A RabbitMQ of our own, one node or a cluster: its own epmd, no plugins; nothing of the machine's own installation is
touched."""

import itertools
import os
import shutil
import socket
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import trustme

from evenkeel.cmd.rabbitmq import agent_user_commands
from tests.services.erlang_modules import boot_module, keep_modules
from tests.services.process import Server, ServiceFailed, free_port, run_tool
from tests.services.sharing import shared

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
CONTROL = Path("/usr/lib/rabbitmq/bin/rabbitmqctl")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_CALLS = itertools.count(1)
"""Numbers of this process's calls of nodes."""


def missing() -> str:
    """Why RabbitMQ cannot be started here; empty if it can."""
    if not SERVER.exists() or not shutil.which("epmd"):
        return "RabbitMQ is not installed (Debian: rabbitmq-server)"
    return ""


class Epmd(Server):
    """Erlang's port mapper, for one node or a cluster. Started by us: the one that Erlang would start detaches itself
    and would outlive the tests."""

    start_seconds = 60.0

    def __init__(self) -> None:
        super().__init__("evenkeel-epmd-")

    def start(self) -> None:
        """Start; nothing to do if it runs."""
        if not self.running:
            self._begin(["epmd", "-address", "127.0.0.1", "-port", str(self.port)])

    def _serves(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0):
                return True
        except OSError:
            return False

    def _environment(self) -> dict[str, str]:
        return {"PATH": PATH, "HOME": str(self._home)}


class Broker:
    """A running node, and one virtual host of it."""

    port: int
    tls_port: int
    node_name: str
    vhost = "/"

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/{self.vhost.removeprefix('/')}"

    def control(self, *arguments: str) -> str:
        """The output of rabbitmqctl. Takes a second or two."""
        environment = self._environment()
        return run_tool([CONTROL, "-n", self.node_name, *arguments], env=environment, cwd=Path(environment["HOME"]))

    def evaluate(self, expressions: str) -> str:
        """The value, as text, of Erlang expressions that the node evaluates. Takes milliseconds, where rabbitmqctl
        takes a second of CPU. Raises :class:`ServiceFailed`."""
        environment = self._environment()
        # a name of its own for each call: by default all are called after the user, and a node that is connected to one
        # refuses another of the same name, as of a second worker of the run
        own_name = f"call{os.getpid()}n{next(_CALLS)}"
        command = ["erl_call", "-h", own_name, "-n", self.node_name, "-e"]
        answer = run_tool(command, env=environment, cwd=Path(environment["HOME"]), text=f"{expressions}.\n")
        if not answer.startswith("{ok, "):
            raise ServiceFailed(f"{self.node_name}: {answer}")
        return answer.removeprefix("{ok, ").removesuffix("}")

    def add_agent(self, environment: str, group_number: int, host: str, *, password: str) -> None:
        """The user of an agent, by the commands that operators are told."""
        for arguments in agent_user_commands(environment, group_number, host, vhost=self.vhost):
            self.control(*arguments, *((password,) if arguments[0] == "add_user" else ()))

    def delete_user(self, name: str) -> None:
        """Users are the node's, not the virtual host's."""
        self.evaluate(f'rabbit_auth_backend_internal:delete_user(<<"{name}">>, <<"test">>)')

    def _environment(self) -> dict[str, str]:
        """The environment of its tools."""
        raise NotImplementedError


class SharedRabbitMQ(Broker):
    """A virtual host of the node of all workers of a run: nobody stops or configures it. It serves TLS, too."""

    def __init__(self, place: dict[str, Any], vhost: str = "/") -> None:
        self.port = place["port"]
        self.tls_port = place["tls_port"]
        self.node_name = place["node_name"]
        self.vhost = vhost
        self._place = place

    @classmethod
    @contextmanager
    def opened(cls, servers: Path) -> Iterator[Self]:
        """``servers``: :func:`tests.services.sharing.directory_of_run`."""
        with shared(servers, start_rabbitmq, start_seconds=RabbitMQ.start_seconds) as place:
            yield cls(place)

    @contextmanager
    def virtual_host(self) -> Iterator[Self]:
        """An empty virtual host, as long as the block runs."""
        name = f"test-{uuid.uuid4().hex}"
        permissions = f'rabbit_auth_backend_internal:set_permissions(<<"guest">>, <<"{name}">>, A, A, A, <<"test">>)'
        self.evaluate(f'A = <<".*">>, ok = rabbit_vhost:add(<<"{name}">>, <<"test">>), ok = {permissions}')
        yield type(self)(self._place, name)
        self.evaluate(f'rabbit_vhost:delete(<<"{name}">>, <<"test">>)')

    @property
    def authority(self) -> trustme.CA:
        """It made the certificate for ``localhost`` with which the node serves TLS, and makes those of clients."""
        return trustme.CA.from_pem(*(self._place["authority"][kind].encode() for kind in ("certificate", "key")))

    def _environment(self) -> dict[str, str]:
        environment: dict[str, str] = self._place["environment"]
        return environment


def start_rabbitmq(stack: ExitStack, _servers: Path) -> dict[str, Any]:
    """Started by the keeper of a run."""
    server, authority = RabbitMQ(), trustme.CA()
    stack.callback(server.close)
    server.serve_tls(authority, "localhost")
    server.start()
    return {
        "homes": [str(server.home)],
        "port": server.port,
        "tls_port": server.tls_port,
        "node_name": server.node_name,
        "environment": server.tool_environment(),
        "authority": {
            "certificate": authority.cert_pem.bytes().decode(),
            "key": authority.private_key_pem.bytes().decode(),
        },
    }


class RabbitMQ(Broker, Server):
    """One broker node of its user's own. ``url`` stays the same over restarts; durable content survives them, unless
    wiped."""

    start_seconds = 180.0

    def __init__(self, epmd: Epmd | None = None) -> None:
        super().__init__("evenkeel-rabbitmq-")
        self.tls_port = free_port()
        self.node_name = f"test{self.port}@localhost"
        self._dist_port = free_port()
        self._epmd = epmd if epmd is not None else Epmd()
        self._boot_module = "rabbit"
        (self._home / "enabled_plugins").write_text("[].\n")
        (self._home / "env.conf").write_text("")
        self.configure({})

    def configure(self, settings: Mapping[str, str]) -> None:
        """Settings of rabbitmq.conf beyond our own, from the next start on."""
        lines = [f"{name} = {value}\n" for name, value in {**self._settings(), **settings}.items()]
        (self._home / "rabbitmq.conf").write_text("".join(lines))

    def serve_tls(self, authority: trustme.CA, host: str) -> None:
        """Serve TLS too, with a certificate for ``host``, which clients of the authority may answer with theirs."""
        files = {"certfile": self._home / "cert.pem", "keyfile": self._home / "key.pem"}
        leaf = authority.issue_cert(host)
        leaf.cert_chain_pems[0].write_to_path(files["certfile"])
        leaf.private_key_pem.write_to_path(files["keyfile"])
        authority.cert_pem.write_to_path(files.setdefault("cacertfile", self._home / "ca.pem"))
        self.configure(
            {
                "listeners.ssl.1": f"127.0.0.1:{self.tls_port}",
                "ssl_options.verify": "verify_peer",
                **{f"ssl_options.{name}": str(path) for name, path in files.items()},
            }
        )

    def share_cookie(self, cookie: str) -> None:
        """Nodes with the same cookie may form a cluster."""
        path = self._home / ".erlang.cookie"
        path.write_text(cookie)
        path.chmod(0o400)

    def _settings(self) -> dict[str, str]:
        return {
            "listeners.tcp.1": f"127.0.0.1:{self.port}",
            "vm_memory_high_watermark.absolute": "1GB",
            "disk_free_limit.absolute": "10MB",
            "raft.wal_max_size_bytes": "16777216",
            "log.console": "true",
            "log.console.level": "warning",
            "log.file": "false",
        }

    def start(self) -> None:
        """Start and wait until clients are served; nothing to do if they are."""
        if not self.running:
            self._epmd.start()
            self._boot_module = boot_module(self._home)
            self._begin([SERVER])
            keep_modules(self.evaluate)
        elif not self._serves():
            self.evaluate("rabbit:start()")

    def stop_application(self) -> None:
        """Stop it as ``rabbitmqctl stop_app`` does, until :meth:`start`. Clients see what they see at :meth:`stop`, and
        starting again takes a second of CPU instead of three, because Erlang has the code already."""
        self.evaluate("rabbit:stop()")

    def tool_environment(self) -> dict[str, str]:
        """The environment in which rabbitmqctl and ``erl_call`` find it."""
        return self._environment()

    def wipe(self) -> None:
        """Forget all queues and messages. Only while it, or its application, is stopped."""
        if self.running:
            self.evaluate("rabbit_mnesia:force_reset()")
        else:
            shutil.rmtree(self._home / "mnesia", ignore_errors=True)

    def close(self) -> None:
        """Stop for good."""
        super().close()
        self._epmd.close()

    def _environment(self) -> dict[str, str]:
        home = str(self._home)
        return {
            "HOME": home,
            "PATH": PATH,
            "LANG": "C.UTF-8",
            "RUNNING_UNDER_SYSTEMD": "true",  # exec Erlang instead of keeping a shell in front of it
            "ERL_EPMD_PORT": str(self._epmd.port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": self.node_name,
            "RABBITMQ_BOOT_MODULE": self._boot_module,
            "RABBITMQ_DIST_PORT": str(self._dist_port),
            "RABBITMQ_CONF_ENV_FILE": f"{home}/env.conf",
            "RABBITMQ_CONFIG_FILE": f"{home}/rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{home}/enabled_plugins",
            "RABBITMQ_MNESIA_BASE": f"{home}/mnesia",
            "RABBITMQ_LOG_BASE": f"{home}/log",
            "RABBITMQ_PID_FILE": f"{home}/pid",
            "RABBITMQ_GENERATED_CONFIG_DIR": f"{home}/config",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
        }

    def _serves(self) -> bool:
        """Does it answer the AMQP 0-9-1 protocol header?"""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2.0) as client:
                client.sendall(b"AMQP\x00\x00\x09\x01")
                return client.recv(1) == b"\x01"
        except OSError:
            return False


class RabbitCluster:
    """Nodes that form one cluster by themselves when they are first started. Some 130 MB of memory for each."""

    def __init__(self, size: int = 3) -> None:
        self._epmd = Epmd()
        self.nodes = [RabbitMQ(self._epmd) for _ in range(size)]
        members = {
            f"cluster_formation.classic_config.nodes.{number}": node.node_name
            for number, node in enumerate(self.nodes, start=1)
        }
        for node in self.nodes:
            node.share_cookie("EVENKEELTESTS")
            node.configure(
                {
                    "cluster_formation.peer_discovery_backend": "classic_config",
                    "cluster_partition_handling": "pause_minority",
                    **members,
                }
            )

    @property
    def url(self) -> str:
        """All nodes."""
        return f"amqp://guest:guest@{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}/"

    def start(self) -> None:
        """Start what does not run, and wait until all serve clients."""
        self._epmd.start()
        with ThreadPoolExecutor(len(self.nodes)) as threads:
            list(threads.map(RabbitMQ.start, self.nodes))

    def fully_replicated(self, queue: str) -> bool:
        """Is every node an online member of the quorum queue?"""
        name = f'rabbit_misc:r(<<"/">>, queue, <<"{queue}">>)'
        online = "length(proplists:get_value(online, rabbit_quorum_queue:info(Queue, [online])))"
        found = self.nodes[0].evaluate(f"case rabbit_amqqueue:lookup({name}) of {{ok, Queue}} -> {online}; _ -> 0 end")
        return int(found) == len(self.nodes)

    def close(self) -> None:
        """Stop for good."""
        for node in self.nodes:
            node.close()
