"""Contents of certificate files that a partition holds, private keys included: one file each, in the directory for keys
(:mod:`disk.keys_dir`). The partition's state on disk has a placeholder in their place: it reveals nothing of the
content, but allows damage to be detected. A damaged content counts as lost, and the agent sends it again.

Every function may block.
"""

import contextlib
import hashlib
import re
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import structlog

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.files import read_text, write_file

log = structlog.get_logger(__name__)

_PLACEHOLDER_PREFIX = "kept:"
"""Prefix of a placeholder for a content; no PEM starts with it."""
_PLACEHOLDER_WORD_DIGITS = 32
_WORD_PATTERN = re.compile(rf"[0-9a-f]{{{_PLACEHOLDER_WORD_DIGITS}}}")
_SALT_DIGITS = 16


class CertificateContents:
    """Stores the certificate contents of one partition, private keys included, and replaces them by placeholders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._words: dict[str, str] = {}
        """``{content: name of the file that stores it}``; the placeholder contains the name."""

    def store_contents(self, load_balancer: wire.LoadBalancerConfig) -> wire.LoadBalancerConfig:
        """Return the load balancer with placeholders in place of certificates' contents, which are in synced
        files when this returns. Raises :class:`OSError`.
        """
        return _replace_contents(load_balancer, self._store_content)

    def fill_in_contents(self, load_balancer: wire.LoadBalancerConfig) -> wire.LoadBalancerConfig:
        """Return the load balancer with certificates' contents in place of their placeholders; a content that
        is lost or damaged is empty.
        """
        return _replace_contents(load_balancer, self._read_stored_content)

    def forget_written_contents(self) -> None:
        """Forget which contents are on disk, so that the next :meth:`store_contents` writes all of them
        again: the directory may have been removed.
        """
        self._words = {}

    def remove_contents_except(self, held: Iterable[wire.LoadBalancerConfig]) -> None:
        """Remove the files of all contents that no load balancer in ``held`` refers to. Raises
        :class:`OSError`.
        """
        contents = {file.content for one in held for file in one.files if file.kind == "certificate"}
        self._words = {content: word for content, word in self._words.items() if content in contents}
        with contextlib.suppress(FileNotFoundError):  # the directory was removed
            for name in {path.name for path in self.folder.iterdir()} - set(self._words.values()):
                (self.folder / name).unlink(missing_ok=True)

    def _store_content(self, content: str) -> str:
        if content and content not in self._words:
            # The salt keeps a content from being recognized by its digest.
            word = _placeholder_word(content, secrets.token_hex(_SALT_DIGITS // 2))
            write_file(self.folder / word, content.encode(), sync=True)
            self._words[content] = word
        return f"{_PLACEHOLDER_PREFIX}{self._words[content]}" if content else ""

    def _read_stored_content(self, written: str) -> str:
        word = written.removeprefix(_PLACEHOLDER_PREFIX)
        # The pattern keeps a manipulated placeholder from leading to another file.
        content = (_WORD_PATTERN.fullmatch(word) and read_text(self.folder / word)) or ""
        if content and _placeholder_word(content, word[:_SALT_DIGITS]) != word:
            log.warning("stored certificate is damaged; its agent sends it again", file=word)
            content = ""
        if content:
            self._words[content] = word
        return content


def _placeholder_word(content: str, salt: str) -> str:
    """Return the name of a content's file, which its placeholder contains: the salt and a truncated digest,
    32 hexadecimal digits, enough to detect damage.
    """
    return salt + hashlib.sha256(f"{salt} {content}".encode()).hexdigest()[: _PLACEHOLDER_WORD_DIGITS - _SALT_DIGITS]


def _replace_contents(load_balancer: wire.LoadBalancerConfig, change: Callable[[str], str]) -> wire.LoadBalancerConfig:
    if all(file.kind != "certificate" for file in load_balancer.files):
        return load_balancer
    files = tuple(
        msgspec.structs.replace(file, content=change(file.content)) if file.kind == "certificate" else file
        for file in load_balancer.files
    )
    return msgspec.structs.replace(load_balancer, files=files)
