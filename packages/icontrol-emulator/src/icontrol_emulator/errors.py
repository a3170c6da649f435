"""All error responses of a device, with the texts and codes that clients match.

A BIG-IP responds from two daemons with different error bodies: icrd/mcpd (configuration below /mgmt/tm) and restjavad
(authentication, /mgmt/shared, unregistered URIs); the web server in front responds in HTML. This module has the exact
formats and all of mcpd's texts. When they apply is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MCPD_ERROR = 3
ICRD_ERROR = 1
TRANSACTION_ERROR = 2
INVALID_VALUE_ERROR = 26214401

HTML_503 = (
    '<!DOCTYPE html>\n<html lang="en">\n<head><title>Configuration Utility restarting...</title></head>\n<body>\n'
    "<p>The Configuration Utility is restarting. Please wait.</p>\n</body></html>\n"
)
HTML_401 = (
    '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">\n<html><head>\n'
    "<title>401 F5 Authorization Required</title>\n</head><body>\n<h1>F5 Authorization Required</h1>\n"
    "<p>This server could not verify that you are authorized to access the document requested.</p>\n"
    "</body></html>\n"
)


class IControlError(Exception):
    """The device refused the request."""

    def __init__(self, status: int, message: str, api_error: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.api_error = api_error

    def body(self) -> dict[str, Any]:
        """The JSON body as icrd sends it."""
        document: dict[str, Any] = {"code": self.status, "message": self.message, "errorStack": []}
        if self.api_error is not None:
            document["apiError"] = self.api_error
        return document


class RestError(IControlError):
    """restjavad refused the request."""

    def body(self) -> dict[str, Any]:
        return {
            "code": self.status,
            "message": self.message,
            "referer": "127.0.0.1",
            "restOperationId": abs(hash(self.message)) % 10_000_000,
            "kind": ":resterrorresponse",
        }


class HtmlError(IControlError):
    """The error is an HTML page of the web server, which refused the request before the REST framework saw it."""


def mcpd(status: int, number: str, text: str) -> IControlError:
    return IControlError(status, f"{number}:3: {text}", MCPD_ERROR)


def not_found(word: str, path: str) -> IControlError:
    return mcpd(404, "01020036", f"The requested {word} ({path}) was not found.")


def object_not_found(path: str) -> IControlError:
    return IControlError(404, f"Object not found - {path}", ICRD_ERROR)


def uri_not_registered(uri: str) -> IControlError:
    return RestError(404, f"Public URI path not registered: {uri}")


def restarting(uri: str) -> IControlError:
    text = f"URI path {uri} not registered.  Please verify URI is supported and wait for /available suffix to be "
    return RestError(404, f"{text}responsive.")


def already_exists(word: str, path: str, partition: str) -> IControlError:
    where = f" in partition {partition}" if partition else ""
    return mcpd(409, "01020066", f"The requested {word} ({path}) already exists{where}.")


def invalid_json() -> IControlError:
    return IControlError(400, "Found invalid JSON body in the request.", ICRD_ERROR)


def configuration_error(text: str) -> IControlError:
    return mcpd(400, "01070734", f"Configuration error: {text}")


def in_use(word: str, path: str, user_word: str, user_path: str) -> IControlError:
    return mcpd(
        400,
        "01070265",
        f"The {word} ({path}) cannot be deleted because it is in use by a {user_word} ({user_path}).",
    )


def file_in_use(path: str) -> IControlError:
    return mcpd(400, "01071349", f"File object by name ({path}) is in use.")


def unknown_format(path: str) -> IControlError:
    """Text as quoted in F5Networks/terraform-provider-bigip issue 980."""
    return mcpd(400, "01070712", f"Certificate/Key has unknown format or security type ({path}).")


def no_such_file(word: str, path: str) -> IControlError:
    """A profile refers to a certificate, key or revocation list that does not exist: 400, unlike other references.

    As F5Networks/terraform-provider-bigip issue 318 quotes it.
    """
    return mcpd(400, "01070277", f"The requested {word} ({path}) was not found.")


def chain_and_profile(path: str) -> IControlError:
    """Text as quoted in F5Networks/terraform-provider-bigip issue 449."""
    text = (
        f"Client SSL profile ({path}):cert-key-chain and profile cert/key/chain/passphrase options cannot be "
        "specified together."
    )
    return mcpd(400, "01b4002a", text)


def unreadable_key(key: str, profile: str) -> IControlError:
    """An encrypted key without its passphrase, as F5Networks/f5-ansible issue 2131 quotes it."""
    reason = "error:0906A068:PEM routines:PEM_do_header:bad password read"
    return mcpd(400, "01070313", f"Error reading key PEM file {key} for profile {profile}: {reason}")


def no_pair(profile: str) -> IControlError:
    """Text as quoted in F5Networks/f5-ansible issue 1217."""
    return mcpd(400, "01070317", f"profile {profile}'s key and certificate do not match")


def same_kind_twice(profile: str) -> IControlError:
    text = f"Client SSL profile ({profile}) cannot contain more than one set of same certificate/key type."
    return mcpd(400, "010717e1", text)


def bad_cipher_word(word: str, profile: str) -> IControlError:
    return mcpd(400, "01070312", f"Invalid keyword '{word.lower()}' in ciphers list for profile {profile}")


def denies_all(text: str, profile: str) -> IControlError:
    return mcpd(400, "01070311", f"Ciphers list '{text}' for profile {profile} denies all clients")


def tls13_without_group(profile: str) -> IControlError:
    """F5's K10251520 and F5Networks/terraform-provider-bigip issue 727 state that it is refused; the text is ours."""
    return configuration_error(f"In profile {profile} TLSv1.3 needs a cipher-group; set it, or the option no-tlsv1.3")


def no_sni_default(virtual: str) -> IControlError:
    text = "has more than one clientssl/serverssl profile but none of them is default for SNI"
    return mcpd(400, "0107149c", f"Virtual server {virtual} {text}")


def same_server_name(virtual: str) -> IControlError:
    """Text as quoted in F5Networks/k8s-bigip-ctlr issue 1042."""
    text = "has more than one clientssl/serverssl profile with same server name."
    return mcpd(400, "0107149e", f"Virtual server {virtual} {text}")


def http2_and_client_ssl(virtual: str, profile: str, reason: str) -> IControlError:
    """Text as quoted in bug 516327 of F5's tracker, spelling included."""
    return configuration_error(
        f"In Virtual Server ({virtual}) an http2 profile with enforce-tls-requirements enabled is incompatible with "
        f"clientssl profile '{profile}'; {reason}"
    )


def unknown_property(name: str) -> IControlError:
    return IControlError(400, f'"{name}" unknown property', INVALID_VALUE_ERROR)


def invalid_value(name: str, value: object) -> IControlError:
    return IControlError(400, f'invalid property value "{name}":"{value}"', INVALID_VALUE_ERROR)


def missing_property(name: str) -> IControlError:
    return IControlError(400, f'"{name}" may not be empty', INVALID_VALUE_ERROR)


def not_in_modify(name: str, commands: str) -> IControlError:
    """Text as quoted in Ansible modules on GitHub for a route's `network` and a data group's `type`;
    F5Networks/f5-openstack-agent issue 584 has the same for a member's `address`.
    """
    text = f'"{name}" may not be specified in the context of the "modify" command. "{name}" may be specified using the '
    return IControlError(400, f"{text}following commands: {commands}", INVALID_VALUE_ERROR)


def not_together(name: str, other: str) -> IControlError:
    return IControlError(400, f'"{name}" may not be specified with "{other}"', INVALID_VALUE_ERROR)


def tag_like() -> IControlError:
    return IControlError(400, "HTML Tag-like Content in the Request URL/Body", INVALID_VALUE_ERROR)


def nothing_to_change() -> IControlError:
    return IControlError(400, "one or more properties must be specified", INVALID_VALUE_ERROR)


def transaction_failed(cause: IControlError) -> IControlError:
    return IControlError(400, f"transaction failed:{cause.message}", TRANSACTION_ERROR)


def nothing_to_commit() -> IControlError:
    return IControlError(404, "there is no command to commit in the transaction.", ICRD_ERROR)


def foreign_partition(word: str, kind_plural: str, path: str, target: str) -> IControlError:
    return mcpd(
        400,
        "01070726",
        f"A {word.lower()} may only reference {kind_plural} in the same partition or the common partition "
        f"({path}:{target})",
    )


def disk_full() -> IControlError:
    """The file system that keeps the configuration has no space left; the wording is from memory."""
    return mcpd(400, "01070712", "Caught configuration exception (0), No space left on device.")


def busy() -> IControlError:
    return IControlError(503, "There is an active asynchronous task executing.", 32964609)


def utility_restarting() -> IControlError:
    """The page of the web server while restjavad restarts; Ansible's modules recognise its title."""
    return HtmlError(503, HTML_503)


def mcpd_lost() -> IControlError:
    return IControlError(500, "The connection to mcpd has been lost, try again.", 32768001)


def version_not_supported(version: Iterable[int]) -> IControlError:
    """Text as quoted in F5Networks/k8s-bigip-ctlr issue 1488 for TMOS 16.0 and 11.5.0."""
    return RestError(400, f"Version {'.'.join(map(str, version))} is not supported.")


def not_provisioned(uri: str, module: str) -> IControlError:
    return IControlError(
        400,
        f"One of the following features must be licensed/provisioned for the URI {uri} : {module}",
        ICRD_ERROR,
    )


def unauthorized_html() -> IControlError:
    return HtmlError(401, HTML_401)


def no_credentials(uri: str, peer: str) -> IControlError:
    return RestError(
        401,
        "Authorization failed: no user authentication header or token detected. "
        f"Uri:http://localhost:8100{uri} Referrer:{peer} Sender:{peer}",
    )
