"""Octavia's options of which TLS may be spoken."""

from pathlib import Path

import pytest

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.options.tls_options import tls_rules
from evenkeel.core.tls.tls import DEFAULT_CIPHERS, TLS13_CIPHERS, UNRESTRICTED_TLS, TlsRules


def rules_of(tmp_path: Path, *lines: str) -> TlsRules:
    file = tmp_path / "evenkeel.ini"
    file.write_text("\n".join(["[api_settings]", *lines]))
    return tls_rules(
        load_configuration("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER_OPTION_GROUPS)
    )


def test_the_rules_are_those_of_the_options(tmp_path: Path) -> None:
    assert rules_of(tmp_path) == UNRESTRICTED_TLS
    found = rules_of(tmp_path, "minimum_tls_version = TLSv1.2", "tls_cipher_prohibit_list = RC4-MD5: AES128-SHA:")
    assert found == TlsRules(minimum_version="TLSv1.2", prohibited_ciphers=frozenset({"RC4-MD5", "AES128-SHA"}))


def test_impossible_tls_option_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"minimum_tls_version.*TLSv2"):
        rules_of(tmp_path, "minimum_tls_version = TLSv2")
    with pytest.raises(ValueError, match="tls_cipher_prohibit_list: it prohibits all"):
        rules_of(tmp_path, f"tls_cipher_prohibit_list = {DEFAULT_CIPHERS}")
    prohibited = f"tls_cipher_prohibit_list = {':'.join(TLS13_CIPHERS)}"
    assert rules_of(tmp_path, prohibited).default_versions == ("TLSv1.2",)
    with pytest.raises(ValueError, match=r"prohibits all ciphers of TLSv1\.3, which minimum_tls_version demands"):
        rules_of(tmp_path, prohibited, "minimum_tls_version = TLSv1.3")
