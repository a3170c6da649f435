"""Credentials at the controllers: a password from a file, or a token of Keystone."""

import base64
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOGIN_SECONDS = 2.0
"""Time-out of one request at Keystone, unless ``timeout`` is set."""


class PasswordCredential:
    """HTTP basic authentication; the password's file is read for each login, so that it can be replaced."""

    def __init__(self, username: str, password_file: Path) -> None:
        self._username = username
        self._file = password_file

    def headers(self) -> Mapping[str, str]:
        """Return the Authorization header. Raises OSError if the file can't be read."""
        password = self._file.read_text(encoding="utf-8").rstrip("\r\n")
        encoded = base64.b64encode(f"{self._username}:{password}".encode()).decode()
        return {"Authorization": f"Basic {encoded}"}

    def renew(self) -> bool:
        """Return False: another attempt cannot help, because the file has just been read."""
        return False


class KeystoneCredential:
    """Tokens of Keystone, requested with keystoneauth's options in a group of ``octavia.conf``."""

    def __init__(self, conf: Any, group: str) -> None:
        from keystoneauth1 import loading

        self._auth: Any = loading.load_auth_from_conf_options(conf, group)
        self._session = loading.load_session_from_conf_options(conf, group, auth=self._auth)
        # Octavia's transaction is open while a driver waits for a token
        self._session.timeout = self._session.timeout or LOGIN_SECONDS
        self._lock = threading.Lock()

    @staticmethod
    def is_configured(conf: Any, group: str) -> bool:
        """Register keystoneauth's options and return whether ``auth_type`` or ``auth_section`` is set."""
        try:
            from keystoneauth1 import loading
        except ImportError:
            return False
        loading.register_auth_conf_options(conf, group)
        loading.register_session_conf_options(conf, group, deprecated_opts=None)
        return bool(conf[group].auth_type or conf[group].auth_section)

    def headers(self) -> Mapping[str, str]:
        """Return a valid token's header; logs in at Keystone if there is none. Raises ConnectionError if
        Keystone gives no token.
        """
        from keystoneauth1.exceptions import ClientException

        with self._lock:
            try:
                return {"X-Auth-Token": str(self._auth.get_token(self._session))}
            except ClientException as error:
                raise ConnectionError(f"Keystone gives no token: {error}") from error

    def renew(self) -> bool:
        """Discard the token, which Keystone may have revoked. Returns whether there was one, so that another
        attempt may help.
        """
        with self._lock:
            return bool(self._auth.invalidate())
