"""Sealed boxes: what is secret on its way from a controller to the one agent process that asked for it.

HPKE (RFC 9180) of the library ``cryptography`` in its base mode, with X25519, HKDF-SHA256 and AES-256-GCM. An agent's
process makes a key pair at its start and never writes the private part anywhere; a box that is made for its public key
is of no use to anybody else, nor to itself for anything but what the box was made for. A box does not prove who sealed
it: that is what the message bus is protected for.
"""

from evenkeel.sealing.boxes import BOX_BYTES_MAX, BoxPurpose, KeyPair, SealingError, seal

__all__ = ["BOX_BYTES_MAX", "BoxPurpose", "KeyPair", "SealingError", "seal"]
