"""What operators and tenants do in Vault."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hvac
import pytest

from tests.services.installation import NotInstallable
from tests.services.openbao import OpenBao, program

POLICY = """
path "secret/data/evenkeel/*" { capabilities = ["read"] }
path "secret/data/evenkeel/forbidden/*" { capabilities = ["deny"] }
"""
WRITING = """
path "secret/data/evenkeel/*" { capabilities = ["create", "read", "update"] }
path "secret/metadata/evenkeel/*" { capabilities = ["create", "delete", "list", "read", "update"] }
"""
"""Of controllers that store certificates there."""


def started() -> Iterator["Vault"]:
    """A server with our role until its module has been tested; the first time it is installed."""
    try:
        server = OpenBao(program())
    except NotInstallable as error:
        pytest.skip(str(error))
    server.start()
    yield Vault(server)
    server.close()


class Vault:
    """A server that knows the role of controllers, whose policy lets them read what is below ``secret/evenkeel``."""

    def __init__(self, server: OpenBao) -> None:
        self.server = server
        self.set_up()

    @property
    def root(self) -> hvac.Client:
        return self.server.root()

    def set_up(self) -> None:
        """What an operator does once."""
        root = self.root
        root.sys.create_or_update_policy("evenkeel", POLICY)
        root.sys.enable_auth_method("approle")
        root.auth.approle.create_or_update_approle("controllers", token_policies=["evenkeel"], token_ttl="1h")

    def options(self) -> dict[str, object]:
        """Of the section ``[vault]``, for the role."""
        approle = self.root.auth.approle
        return {
            "vault_url": self.server.url,
            "ssl_ca_crt_file": self.server.ca_file,
            "approle_role_id": approle.read_role_id("controllers")["data"]["role_id"],
            "approle_secret_id": approle.generate_secret_id("controllers")["data"]["secret_id"],
        }

    def put(self, project_id: str, name: str, /, **fields: Any) -> str:
        """A secret in a project's folder; its reference."""
        texts = {field: value.decode() if isinstance(value, bytes) else value for field, value in fields.items()}
        self.root.secrets.kv.v2.create_or_update_secret(f"evenkeel/{project_id}/{name}", texts)
        return f"vault://{project_id}/{name}"

    def token_file(self, folder: Path) -> Path:
        """With a token for our policy, as Vault Agent would write it."""
        file = folder / "token"
        file.write_text(self.root.auth.token.create(policies=["evenkeel"], ttl="1h")["auth"]["client_token"] + "\n")
        return file

    def revoke_all_tokens(self) -> None:
        """Of our role and policy."""
        for accessor in self.root.auth.token.list_accessors()["data"]["keys"]:
            if "evenkeel" in self.root.auth.token.lookup_accessor(accessor)["data"]["policies"]:
                self.root.auth.token.revoke_accessor(accessor)
