"""The key manager ``directory``: encrypted files below one folder per project.

A reference is ``directory://PROJECT/NAME``. The encryption key is not in the directory, so a copy of the directory (a
backup, a discarded disk) reveals only the names of projects and certificates. All controllers read the same directory:
it is for one host, or on a file system that the controllers share.
"""

from evenkeel.key_managers.directory.encryption import Encryption, read_key_file
from evenkeel.key_managers.directory.files import SCHEME
from evenkeel.key_managers.directory.key_manager import DirectoryKeyManager

__all__ = ["SCHEME", "DirectoryKeyManager", "Encryption", "read_key_file"]
