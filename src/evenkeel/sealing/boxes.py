"""Sealing and opening boxes that contain certificates with their keys."""

from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from evenkeel.core.kit.errors import EvenKeelError
from evenkeel.core.kit.ids import AgentId, SessionId, ShardId
from evenkeel.core.kit.values import Value, Wire
from evenkeel.core.tls.certificates import CertificateContent, CertificateKind, PrivateKey

BOX_BYTES_MAX = 2 * 1024 * 1024
"""Maximum size of a sealed box in bytes; the largest revocation list as PEM in JSON is smaller."""

_HPKE_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
_OVERHEAD_BYTES = 32 + 16
"""Number of bytes that a box adds to its plaintext: the ephemeral public key and the tag."""


class SealingError(EvenKeelError):
    """A public key cannot be used, a content is too large to be sealed, or a box cannot be opened for its
    purpose. The text contains no part of the content.
    """


class BoxContext(Value):
    """Recipient and content of a sealed box. All attributes go into HPKE's ``info``, so the box opens for no
    other recipient, shard, epoch or content.
    """

    agent_id: AgentId
    session_id: SessionId
    shard_id: ShardId
    epoch: int
    sha256: str
    """The identity of the content."""

    def info(self) -> bytes:
        """Return HPKE's ``info`` for the box, equal only for equal contexts."""
        # The prefix separates these boxes from any other use of the key pair; JSON with field names makes the encoding
        # unambiguous.
        return b"evenkeel certificate 1\n" + msgspec.json.encode(self)


class _BoxContent(Wire):
    """The plaintext of a sealed box. Fields may be added, as in messages: unknown ones are ignored."""

    kind: CertificateKind
    certificates: tuple[str, ...] = ()
    private_key: PrivateKey | None = None
    revocation_list: str = ""


class BoxKeyPair:
    """The X25519 key pair of one agent process, kept in memory only."""

    def __init__(self) -> None:
        self._private_key = X25519PrivateKey.generate()
        self.public_key = self._private_key.public_key().public_bytes_raw()
        """The public key, 32 bytes, for :func:`seal_certificate_content`."""

    def open(self, box: bytes, purpose: BoxContext) -> CertificateContent:
        """Return the content of a box. Raises :class:`SealingError` if the box is larger than
        :data:`BOX_BYTES_MAX`, or was not sealed for this key and purpose.
        """
        # Before decryption, because a sender is not authenticated by the box.
        if len(box) > BOX_BYTES_MAX:
            raise SealingError(f"the box of {purpose.sha256} has {len(box)} bytes; there may be {BOX_BYTES_MAX}")
        try:
            inside = _content_decoder.decode(_HPKE_SUITE.decrypt(box, self._private_key, purpose.info()))
        except (
            InvalidTag,
            ValueError,
            RecursionError,
            msgspec.MsgspecError,
        ):  # details dropped: they may quote the content
            # One text for every cause: which check failed is of no use but to an attacker.
            raise SealingError(f"the box of {purpose.sha256} was not sealed for this process and purpose") from None
        return CertificateContent(
            kind=inside.kind,
            sha256=purpose.sha256,
            certificates=inside.certificates,
            private_key=inside.private_key,
            revocation_list=inside.revocation_list,
        )


def seal_certificate_content(content: CertificateContent, public_key: bytes, purpose: BoxContext) -> bytes:
    """Seal a box that only the holder of the private key of ``public_key`` (32 bytes) can open, for this
    purpose only; return the box. Raises :class:`SealingError` if the public key is invalid, or the content
    is larger than :data:`BOX_BYTES_MAX` or not the one that the purpose names.
    """
    if content.sha256 != purpose.sha256:
        raise SealingError(f"content {content.sha256} is not {purpose.sha256}")
    inside = _content_encoder.encode(
        _BoxContent(
            kind=content.kind,
            certificates=content.certificates,
            private_key=content.private_key,
            revocation_list=content.revocation_list,
        )
    )
    if len(inside) + _OVERHEAD_BYTES > BOX_BYTES_MAX:
        raise SealingError(f"content {content.sha256} has {len(inside)} bytes; a box takes {BOX_BYTES_MAX}")
    try:
        return _HPKE_SUITE.encrypt(inside, X25519PublicKey.from_public_bytes(public_key), purpose.info())
    except ValueError:  # wrong length, or a low-order point, which gives a constant shared secret
        raise SealingError(f"sealing_key: {len(public_key)} bytes that are no public key of X25519") from None


def _encode_private_key(secret: Any) -> str:
    if isinstance(secret, PrivateKey):
        return secret.reveal().decode("latin-1")  # latin-1 encodes any bytes; a decoding error would quote them
    raise NotImplementedError(type(secret).__name__)


def _decode_private_key(kind: type, text: Any) -> PrivateKey:
    if kind is PrivateKey and isinstance(text, str):
        # The inverse of the encoding above: each character is one byte.
        return PrivateKey(text.encode("latin-1"))
    raise ValueError("not the text of a private key")


_content_encoder = msgspec.json.Encoder(enc_hook=_encode_private_key)
_content_decoder = msgspec.json.Decoder(_BoxContent, dec_hook=_decode_private_key)
