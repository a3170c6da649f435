"""``evenkeel certificate …``: certificates in the controllers' key manager, ``directory`` or a writable Vault."""

import base64
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from evenkeel.cli.base import ApiCommand, ListCommand, ShowCommand
from evenkeel.cli.client import API_PATH, UsageError, quote_segment
from evenkeel.cli.columns import Columns, escape_controls, list_table, object_table

LIST_COLUMNS = ("reference", "kind", "subject", "dns_names", "not_after", "sha256", "state", "problem")
EXPIRING_COLUMNS = ("reference", "project_id", "subject", "not_after", "load_balancers", "problem")
NARROW_TITLES = {
    "reference": "name",
    "kind": "kind",
    "project_id": "project",
    "subject": "subject",
    "not_after": "not_after",
    "state": "state",
    "problem": "problem",
}
EXPIRING_DAYS = 30
CERTIFICATE_KINDS = ("certificate", "authority", "revocation_list")
REVOCATION_REASONS = ("unspecified", "keyCompromise", "affiliationChanged", "superseded", "cessationOfOperation")
FILE_BYTES_MAX = 1024 * 1024
REFERENCE_SCHEMES = ("directory://", "vault://")
"""How references to certificates begin that operators can add, by the key manager that holds them."""


class ListCertificates(ListCommand):
    """List certificates, CA certificates and revocation lists."""

    narrow_titles = NARROW_TITLES
    optional_columns = frozenset({"state", "problem"})
    short_id_columns = frozenset({"reference", "project_id"})
    last_segment_columns = frozenset({"reference"})

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", help="Only of this project.")
        parser.add_argument(
            "--expiring",
            metavar="DAYS",
            nargs="?",
            type=int,
            const=EXPIRING_DAYS,
            help="Those that listeners and pools refer to and that expire within so many days (default: %(const)s), "
            "whatever the key manager.",
        )
        parser.add_argument(
            "--unreadable",
            action="store_true",
            help="Those that listeners and pools refer to and that could not be read the last time, with the reason.",
        )

    def take_action(self, parsed_args: Namespace) -> Any:
        if parsed_args.expiring is not None or parsed_args.unreadable:
            return list_table(
                EXPIRING_COLUMNS,
                self.client.get(f"{API_PATH}/references", _query_of_arguments(parsed_args))["references"],
            )
        query = {"project_id": parsed_args.project} if parsed_args.project else None
        return list_table(LIST_COLUMNS, self.client.get(f"{API_PATH}/certificates", query)["certificates"])


def _query_of_arguments(parsed_args: Namespace) -> dict[str, Any]:
    given = {
        "expiring_days": parsed_args.expiring,
        "unreadable": "true" if parsed_args.unreadable else None,
        "project_id": parsed_args.project or None,
    }
    return {name: value for name, value in given.items() if value is not None}


class RefreshCertificates(ShowCommand):
    """``evenkeel certificate refresh``: has controllers read certificate references from the key manager
    again now.
    """

    operator_action = "reference_refresh"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("reference", metavar="REFERENCE", nargs="?", help="As listeners name it; default: all.")

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        named = {"reference": parsed_args.reference} if parsed_args.reference else {}
        return object_table(self.client.post(f"{API_PATH}/references/refresh", {"refresh": named})["refresh"])


class AddCertificate(ShowCommand):
    """``evenkeel certificate add``: adds a certificate, CA certificates or a revocation list from files to
    the controllers' key manager.
    """

    operator_action = "certificate_create"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Name, unique in the project.")
        parser.add_argument("--project", required=True, help="The project whose load balancers may use it.")
        parser.add_argument(
            "--kind",
            choices=CERTIFICATE_KINDS,
            default="certificate",
            help="Kind of the content (default: %(default)s).",
        )
        parser.add_argument(
            "--file",
            required=True,
            help="File in PEM, for a certificate also PKCS#12. It may contain key and intermediates.",
        )
        parser.add_argument("--private-key", metavar="FILE", help="The key in PEM, if it is in a separate file.")
        parser.add_argument("--intermediates", metavar="FILE", help="Intermediate certificates in PEM.")
        parser.add_argument(
            "--passphrase-file", metavar="FILE", help="File whose first line decrypts the key or the PKCS#12."
        )
        parser.add_argument("--replace", action="store_true", help="Replace an existing one with that name.")

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        body = {
            "name": parsed_args.name,
            "project_id": parsed_args.project,
            "kind": parsed_args.kind,
            "replace": parsed_args.replace,
            **_read_content(parsed_args.file),
        }
        for field in ("private_key", "intermediates"):
            if path := getattr(parsed_args, field):
                body[field] = _read_text(path)
        if parsed_args.passphrase_file:
            # A file from Windows has a carriage return at the end of the line.
            body["passphrase"] = _read_text(parsed_args.passphrase_file).partition("\n")[0].rstrip("\r")
        added = self.client.post(f"{API_PATH}/certificates", {"certificate": body})["certificate"]
        for warning in map(escape_controls, added.pop("warnings", None) or ()):
            self.app.stderr.write(f"warning: {warning}\n")
        return object_table(added)


class RequestCertificate(ShowCommand):
    """Request a certificate for DNS names from the controllers' certificate authority (ACME); returns before
    it is issued.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Name, unique in the project.")
        parser.add_argument("--project", required=True, help="The project whose load balancers may use it.")
        parser.add_argument(
            "--names",
            required=True,
            metavar="NAME[,NAME…]",
            help="DNS names; each must have the VIPs of load balancers of the project as its only addresses.",
        )
        parser.add_argument(
            "--self-signed-until-issued",
            action="store_true",
            help="Listeners can use a self-signed certificate at once, until the authority has issued one.",
        )
        parser.add_argument(
            "--authority", metavar="AUTHORITY", help="Name of the authority; default: the project's default one."
        )
        parser.add_argument("--replace", action="store_true", help="Take the place of an existing one with that name.")

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        body = {
            "name": parsed_args.name,
            "project_id": parsed_args.project,
            "names": [name.strip() for name in parsed_args.names.split(",")],
            "self_signed_until_issued": parsed_args.self_signed_until_issued,
            "replace": parsed_args.replace,
        }
        if parsed_args.authority:
            body["authority"] = parsed_args.authority
        return object_table(self.client.post(f"{API_PATH}/certificates", {"certificate": body})["certificate"])


class ShowCertificate(ShowCommand):
    """Show a certificate, without its key."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        _add_reference_argument(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        return object_table(self.client.get(_certificate_path(parsed_args.reference))["certificate"])


class RevokeCertificate(ShowCommand):
    """Revoke an issued certificate at its authority, and order another one."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        _add_reference_argument(parser)
        parser.add_argument(
            "--reason", choices=REVOCATION_REASONS, default="unspecified", help="Reason (default: %(default)s)."
        )

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        body = {"revocation": {"reason": parsed_args.reason}}
        return object_table(self.client.put(f"{_certificate_path(parsed_args.reference)}/revoke", body)["certificate"])


class DeleteCertificate(ApiCommand):
    """``evenkeel certificate delete``: deletes a certificate from the controllers' key manager."""

    operator_action = "certificate_delete"

    def add_arguments(self, parser: ArgumentParser) -> None:
        _add_reference_argument(parser)

    def take_action(self, parsed_args: Namespace) -> None:
        self.client.delete(_certificate_path(parsed_args.reference))


def _add_reference_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "reference", metavar="REFERENCE", help="Reference: directory://PROJECT/NAME or vault://PROJECT/NAME."
    )


def _certificate_path(reference: str) -> str:
    """Return the path of a certificate in the operators' API. Raises :class:`UsageError` if the reference is
    not like one that the list shows, such as ``directory://PROJECT/NAME``.
    """
    scheme = next((each for each in REFERENCE_SCHEMES if reference.startswith(each)), "")
    project, slash, name = reference.removeprefix(scheme).partition("/")
    if not (scheme and project and slash and name):
        shown = " or ".join(f"{each}PROJECT/NAME" for each in REFERENCE_SCHEMES)
        raise UsageError(f"{reference!r} is not like {shown}")
    return f"{API_PATH}/certificates/{quote_segment(project)}/{quote_segment(name)}"


def _read_content(path: str) -> dict[str, str]:
    content = _read_bytes(path)
    if b"-----BEGIN " in content:
        return {"pem": _decode_text(path, content)}
    return {"pkcs12": base64.b64encode(content).decode("ascii")}


def _read_text(path: str) -> str:
    return _decode_text(path, _read_bytes(path))


def _decode_text(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not text") from None


def _read_bytes(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            # One byte more than allowed shows that the file is too large, whatever its size is.
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if len(content) > FILE_BYTES_MAX:
        raise UsageError(f"{path}: has more than {FILE_BYTES_MAX} bytes")
    return content
