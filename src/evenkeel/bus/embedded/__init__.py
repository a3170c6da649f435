"""The bus of one host: a durable queue in an SQLite file, shared by separate processes; needs no broker.

A message is committed before ``send`` returns and survives the crash of every process (a power failure may lose the
last messages: they are hints; the database is the truth). A message is claimed under a lease; when its handler is done
it is deleted, in the transaction that stores its reply. The file must be on a local disk; all processes run as one
user.
"""

from evenkeel.bus.embedded.bus import EmbeddedBus

__all__ = ["EmbeddedBus"]
