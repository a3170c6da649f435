"""Headers that profiles add to requests and responses, for any HTTP version of the client."""

from __future__ import annotations

from http import HTTPStatus

from icontrol_emulator.dataplane.cookie_encryption import decrypt_request, encrypt_response
from icontrol_emulator.dataplane.cookies import REWRITTEN
from icontrol_emulator.dataplane.http_wire import Head
from icontrol_emulator.dataplane.persist import CookieToSet
from icontrol_emulator.dataplane.session import Session
from icontrol_emulator.irules.state import Answer


def take_request(session: Session, head: Head) -> None:
    """Decrypt the cookies of a request, before its rules see it."""
    decrypt_request(head, session.profiles.encrypted_cookies, session.profiles.cookie_passphrase)


def add_to_request(session: Session, head: Head) -> None:
    inserted = session.profiles.inserted_header
    if inserted:
        head.add_line(inserted)
    if session.profiles.inserts_forwarded_for:
        head.add("X-Forwarded-For", session.client)


def add_to_response(session: Session, head: Head, cookie: CookieToSet | None) -> None:
    encrypt_response(head, session.profiles.encrypted_cookies, session.profiles.cookie_passphrase)
    if cookie is not None and cookie.rewrites:
        head.lines = [f"Set-Cookie: {cookie.value}".encode() if _is_place_holder(line) else line for line in head.lines]
    elif cookie is not None:
        head.add("Set-Cookie", cookie.value)
    security = session.profiles.transport_security
    if security:
        head.remove(b"strict-transport-security")
        head.add("Strict-Transport-Security", security)


def _is_place_holder(line: bytes) -> bool:
    name, _, value = line.decode("latin-1").partition(":")
    return name.strip().lower() == "set-cookie" and value.partition("=")[0].strip() == REWRITTEN


def own_head(answer: Answer) -> Head:
    """The header of a response that an iRule generates."""
    reason = HTTPStatus(answer.status).phrase if answer.status in set(HTTPStatus) else ""
    head = Head(f"HTTP/1.1 {answer.status} {reason}".encode("latin-1"), [])
    for name, value in answer.headers:
        head.add(name, value)
    head.add("Content-Length", str(len(answer.body)))
    return head
