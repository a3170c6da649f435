"""``python -m evenkeel.haproxyd.layer4.remove_table TABLE``: removes a table whose daemon is gone, as after a
demo.

Live flows end with the table. A table that is not there is no error.
"""

import errno
import sys

from evenkeel.haproxyd.layer4.commands import AddTable, DeleteTable
from evenkeel.haproxyd.layer4.netlink import NetfilterSocket

_ERRORS_WITHOUT_TABLE = (errno.EPERM, errno.EOPNOTSUPP, errno.EPROTONOSUPPORT, errno.EAFNOSUPPORT, errno.EINVAL)
"""Errors of hosts on which no daemon with these permissions can have created a table."""


def remove_table(table: str) -> None:
    """Remove an nftables table of this network namespace, if it is there and this process may use nftables.
    Raises :class:`OSError` for other failures.
    """
    try:
        with NetfilterSocket() as netfilter:
            # created first, because what is not there cannot be deleted
            netfilter.transact(message for step in (AddTable(), DeleteTable()) for message in step.messages(table))
    except OSError as error:
        if error.errno not in _ERRORS_WITHOUT_TABLE:
            raise


if __name__ == "__main__":
    remove_table(sys.argv[1])
