"""The releases of TMOS that a device may have, and what differs between them.

Builds and dates of 16.1.2 and 17.5.1 are recorded; those of the others are from memory. The defect of 17.1.2 is F5's
ID1787517. Profiles json and sse came with 21.0, as F5's AS3 3.56 and tables of defaults by version on GitHub have it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    version: str
    build: str
    edition: str
    date: str
    frees_expired_tokens: bool = True

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(map(int, self.version.split(".")))


RELEASES = {
    release.version: release
    for release in (
        Release(version="16.1.2", build="0.0.18", edition="Point Release 2", date="Fri Jan  7 13:04:22 PST 2022"),
        Release(
            version="17.1.2", build="0.0.8", edition="Final", date="Thu Oct 24 04:12:05 PDT 2024",
            frees_expired_tokens=False,
        ),
        Release(version="17.5.1", build="0.0.7", edition="Final", date="Wed Jun 18 06:03:07 PDT 2025"),
        Release(version="21.0.0", build="0.0.10", edition="Final", date="Thu Nov  6 05:31:40 PST 2025"),
    )
}  # fmt: skip
USUAL = RELEASES["16.1.2"]
SINCE = {"ltm/profile/json": (21, 0), "ltm/profile/sse": (21, 0)}
"""Types that older releases lack, by their first one."""


def release_of(version: str) -> Release:
    """Raises `ValueError` naming the releases that there are."""
    if version not in RELEASES:
        raise ValueError(f"version {version!r}: one of {', '.join(RELEASES)}")
    return RELEASES[version]
