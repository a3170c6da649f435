"""The API on a real server, as a configuration describes it."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import trustme

from evenkeel.api.app import create_app
from evenkeel.cmd.configuration import loading
from evenkeel.cmd.controllers.admission import open_admission
from evenkeel.cmd.controllers.serving import ApiHttpServer, configured_server
from evenkeel.cmd.options import identity_options, options
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import open_store
from tests.api.client import Sink
from tests.api.stores import new_file
from tests.waiting import eventually


def load(folder: Path, text: str) -> Any:
    file = folder / "controller.ini"
    file.write_text(text)
    groups = {
        "api": options.API_OPTIONS + identity_options.API_AUTHENTICATION_OPTIONS,
        "identity": identity_options.IDENTITY_OPTIONS,
    }
    return loading.load_configuration("controller", ["--config-file", str(file)], groups=groups)


class Certificates:
    """An authority, a server's certificate and clients'."""

    def __init__(self, folder: Path) -> None:
        self._ca, self._other = trustme.CA(), trustme.CA()
        self.ca, self.cert, self.key = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
        leaf = self._ca.issue_cert("127.0.0.1")
        self._ca.cert_pem.write_to_path(self.ca)
        leaf.private_key_pem.write_to_path(self.key)
        leaf.cert_chain_pems[0].write_to_path(self.cert)

    def client(self, name: str | None, *, known: bool = True) -> ssl.SSLContext:
        """A client's side, with a certificate for ``name``, by a known authority or another."""
        context = ssl.create_default_context()
        self._ca.configure_trust(context)
        if name is not None:
            (self._ca if known else self._other).issue_cert(name).configure_cert(context)
        return context


@contextlib.asynccontextmanager
async def serving(folder: Path, text: str) -> AsyncIterator[tuple[str, ApiHttpServer]]:
    """A server as configured, and its host and port."""
    conf = load(folder, text)
    store = open_store(f"sqlite:///{await new_file(folder)}")
    await store.start()
    admission = open_admission(conf)
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=Sink(),
        default_provider="dev",
        identity=admission.identity,
        policy=admission.policy,
    )
    server = configured_server(app, conf)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    host, port = listening.getsockname()
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        await eventually(lambda: server.started or task.done())
        yield f"{host}:{port}", server
    finally:
        server.should_exit = True
        await task
        await store.close()
