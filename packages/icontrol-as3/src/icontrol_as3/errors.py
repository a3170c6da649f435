"""Refusals of requests, with the documents that clients of AS3 read."""

from __future__ import annotations

from typing import Any

from icontrol_emulator.rest.message import Reply


class Refused(Exception):
    """A request that changes nothing: its status and document."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.document: dict[str, Any] = {"code": status, **more, "message": message}

    def reply(self) -> Reply:
        return Reply(status=self.status, document=self.document)


def invalid(errors: list[str], declaration_id: str = "") -> Refused:
    """The declaration contains something that is not allowed."""
    return Refused(422, "declaration is invalid", errors=errors, declarationFullId=declaration_id)
