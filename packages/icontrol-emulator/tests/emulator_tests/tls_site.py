"""Virtual servers behind TLS, and clients and members that speak it."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustme
from cryptography import x509

from emulator_tests.client import Backend, Client, exchange, free_port
from emulator_tests.test_files import install, sent_from, upload

VIP = "127.0.8.9"
SSL = "ltm/profile/client-ssl"
NEW = {"tmOptions": "none", "cipherGroup": "/Common/f5-default", "ciphers": "none"}
"""Of a profile: TLS 1.3 as well."""
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def serial(leaf: trustme.LeafCert) -> int:
    return x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes()).serial_number


async def put_file(device: Client, kind: str, name: str, data: bytes) -> str:
    """Make a file object of the partition P; its path."""
    await upload(device, name, data)
    await device.post(f"sys/file/ssl-{kind}", {"name": name, "partition": "P", "sourcePath": sent_from(name)})
    return f"/P/{name}"


async def client_ssl(device: Client, name: str, leaf: trustme.LeafCert, **more: Any) -> str:
    """A profile with a certificate of the same name; its path."""
    await install(device, name, leaf)
    chain = [{"name": "own", "cert": f"/P/{name}.crt", "key": f"/P/{name}.key"}]
    await device.post(SSL, {"name": name, "partition": "P", "certKeyChain": chain, **more})
    return f"/P/{name}"


async def https(device: Client, servers: list[Backend], profiles: list[str], **more: Any) -> int:
    """A virtual server with these profiles in front of the servers; its port."""
    members = [f"{server.host}:{server.port}" for server in servers]
    await device.post("ltm/pool", {"name": "p", "partition": "P", "members": members})
    port = free_port(VIP)
    body = {"name": "v", "partition": "P", "destination": f"{VIP}:{port}", "pool": "p", "profiles": profiles, **more}
    await device.post("ltm/virtual", body)
    return port


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(context)
    return context


def believing() -> ssl.SSLContext:
    """Looks at no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def connect(port: int, context: ssl.SSLContext, name: str = "") -> Connection:
    # an empty name is none sent; asyncio wants a text then
    return await asyncio.open_connection(VIP, port, ssl=context, server_hostname=name)


async def served_serial(port: int, name: str = "", context: ssl.SSLContext | None = None) -> int:
    """Of the certificate that a new connection is shown."""
    _, writer = await connect(port, context or believing(), name)
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return x509.load_der_x509_certificate(der).serial_number


async def get(port: int, context: ssl.SSLContext, name: str = "") -> str:
    """What one request on a connection of its own is answered."""
    reader, writer = await connect(port, context, name)
    try:
        return (await exchange(reader, writer))[1]
    finally:
        writer.close()


@dataclass(frozen=True)
class Run:
    """What a program said."""

    code: int
    text: str


async def run(*words: str, typed: bytes = b"") -> Run:
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await asyncio.wait_for(process.communicate(typed), 60)
    return Run(process.returncode or 0, said.decode(errors="replace"))


def written(folder: Path, leaf: trustme.LeafCert) -> tuple[str, str]:
    """Files with a client's certificate and key."""
    cert, key = folder / "client.crt", folder / "client.key"
    cert.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    key.write_bytes(leaf.private_key_pem.bytes())
    return str(cert), str(key)
