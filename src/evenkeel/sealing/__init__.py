"""Sealed boxes: secrets on their way from a controller to the one agent process that requested them.

HPKE (RFC 9180) of the library ``cryptography`` in base mode, with X25519, HKDF-SHA256 and AES-256-GCM. An
agent process makes a key pair when it starts and never stores the private key. A box can be opened only with
the private key that belongs to the public key it was sealed for, and only for its purpose. A box does not
authenticate its sender; the protection of the message bus does.
"""

from evenkeel.sealing.boxes import BOX_BYTES_MAX, BoxContext, BoxKeyPair, SealingError, seal_certificate_content

__all__ = ["BOX_BYTES_MAX", "BoxContext", "BoxKeyPair", "SealingError", "seal_certificate_content"]
