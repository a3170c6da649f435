"""The store port for reading again what references to key managers name."""

from typing import Protocol

from evenkeel.core.certificates import CertificateKind
from evenkeel.core.ids import ProjectId


class RenewalStore(Protocol):
    """When each reference is to be read again, and what has come of it."""

    async def check_now(self, project_id: ProjectId, reference: str, kind: CertificateKind) -> None:
        """It is due. Harmless if nobody refers to it any more."""
        ...
