"""The key manager ``directory``: encrypted files below one folder per project.

A reference is ``directory://PROJECT/NAME``. Files are encrypted with a key that is not in the directory, so that a copy
of it (a backup, a disk thrown away) tells nothing but names of projects and certificates. All controllers read the
same directory: it is for one machine, or on a file system that they share.
"""

from evenkeel.key_managers.directory.encryption import Encryption, read_key_file
from evenkeel.key_managers.directory.key_manager import DirectoryKeyManager

__all__ = ["DirectoryKeyManager", "Encryption", "read_key_file"]
