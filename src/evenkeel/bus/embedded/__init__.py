"""The bus of one machine: a durable queue in an SQLite file, shared by separate processes; nothing to install.

What is sent is committed before ``send`` returns and survives the death of every process (a power cut may cost the last
moments: the database is the truth, messages are hints). A message is claimed under a lease and deleted, together with
the sending of its reply, when its handler is done. The file must be on a local disk; all processes run as one user.
"""

from evenkeel.bus.embedded.bus import EmbeddedBus

__all__ = ["EmbeddedBus"]
