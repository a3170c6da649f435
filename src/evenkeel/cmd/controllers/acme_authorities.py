"""Opens the configured certificate authorities: that of ``[acme]``, and those of ``[acme:NAME]``."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from oslo_config import cfg

from evenkeel.cmd.controllers.private_files import read_private_file
from evenkeel.cmd.options.acme_options import ACME_SECTION, NAMED_AUTHORITY_OPTIONS, authority_name, authority_sections
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.secret_files import decode_base64_secret
from evenkeel.core.tls.acme.authorities import DEFAULT_AUTHORITY, AuthorityScope
from evenkeel.core.tls.certificates import Secret


class AuthorityOptions(NamedTuple):
    """Options of one certificate authority."""

    section: str
    name: str
    directory_url: str
    contact: str
    ssl_ca_crt_file: str | None
    eab_key_id: str
    eab_key_file: str | None
    caa_identities: list[str]
    projects: list[str]

    @property
    def scope(self) -> AuthorityScope:
        """The authority's name, with the projects that may use it."""
        return AuthorityScope(name=self.name, projects=tuple(map(ProjectId, self.projects)))

    @property
    def account(self) -> str:
        """Identity of the controllers' account at the authority: its directory's URL and the key id of
        External Account Binding, if there is one.
        """
        return f"{self.directory_url} {self.eab_key_id}" if self.eab_key_id else self.directory_url


def configured_authorities(conf: cfg.ConfigOpts) -> tuple[AuthorityOptions, ...]:
    """Return all authorities in the options, that of ``[acme]`` first if it is configured. Raises
    :class:`ValueError` naming the option.
    """
    found = tuple(_authority_options(conf))
    for each in found:
        _check_authority(each)
    return found


def read_hmac_key(options: AuthorityOptions) -> Secret | None:
    """Return the HMAC key of External Account Binding (RFC 8555, 7.3.4), in base64url without padding; None
    if it is not configured. Raises :class:`ValueError`, whose text does not contain the key.
    """
    if not options.eab_key_id or options.eab_key_file is None:
        return None
    about, file = f"{options.section}.eab_key_file", options.eab_key_file
    text = read_private_file(about, file)
    bare = text.rstrip(b"=")
    if not decode_base64_secret(bare + b"=" * (-len(bare) % 4), url_safe=True):
        raise ValueError(f"{about}: {file}: one line in base64url is allowed")
    return Secret(bare)


def _authority_options(conf: cfg.ConfigOpts) -> Iterator[AuthorityOptions]:
    if conf.acme.directory_url:
        yield AuthorityOptions(
            ACME_SECTION,
            DEFAULT_AUTHORITY,
            conf.acme.directory_url,
            conf.acme.contact,
            conf.acme.ssl_ca_crt_file,
            conf.acme.eab_key_id,
            conf.acme.eab_key_file,
            conf.acme.caa_identities,
            projects=[],
        )
    for section in authority_sections(conf.list_all_sections()):
        values = {option.dest: conf[section][option.dest] for option in NAMED_AUTHORITY_OPTIONS}
        yield AuthorityOptions(section, authority_name(section), **values)


def _check_authority(options: AuthorityOptions) -> None:
    section, url = options.section, options.directory_url
    try:
        parts = urlsplit(url)
        valid = parts.scheme == "https" and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(f"{section}.directory_url: {url!r}: https://HOST[:PORT]/PATH is allowed")
    if options.ssl_ca_crt_file and not Path(options.ssl_ca_crt_file).is_file():
        raise ValueError(f"{section}.ssl_ca_crt_file: there is no file {options.ssl_ca_crt_file}")
    if bool(options.eab_key_id) != bool(options.eab_key_file):
        missing = "eab_key_file" if options.eab_key_id else "eab_key_id"
        raise ValueError(f"{section}.{missing}: not set; External Account Binding needs eab_key_id and eab_key_file")
