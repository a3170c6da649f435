"""The controllers' ACME client (RFC 8555) by certbot's library ``acme``, with the name resolver and the
adapters of DNS zones.

The library blocks, so it runs in threads. The authority is not trusted: times, sizes and addresses are
bounded, and what it issues is checked before it is stored.
"""

from evenkeel.acme_client.authority import AcmeAuthority, ExternalAccount
from evenkeel.acme_client.key_pairs import KeyPairs
from evenkeel.acme_client.resolver import DnsResolver
from evenkeel.acme_client.rfc2136 import Rfc2136Zone, TsigKey

__all__ = ["AcmeAuthority", "DnsResolver", "ExternalAccount", "KeyPairs", "Rfc2136Zone", "TsigKey"]
