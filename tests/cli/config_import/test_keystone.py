"""The login of Neutron's files, of every release, in keystoneauth's names of today."""

import pytest

from evenkeel.cli.config_import.ini_reading import read_ini
from evenkeel.cli.config_import.keystone import KeystoneLogin, find_login
from evenkeel.cli.config_import.settings import SourceSettings

DOMAINS = {"user_domain_id": "default", "project_domain_id": "default"}
LOGIN = {"auth_type": "password", "username": "neutron", "password": "word", "project_name": "service", **DOMAINS}
LEGACY = "admin_user = neutron\nadmin_password = word\nadmin_tenant_name = service\n"


def login(text: str) -> KeystoneLogin:
    return find_login(SourceSettings(read_ini(f"[keystone_authtoken]\n{text}")))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        pytest.param(f"identity_uri = http://k:35357/v2.0/\n{LEGACY}", "http://k:35357", id="identity_uri"),
        pytest.param(f"auth_host = k\nauth_protocol = http\n{LEGACY}", "http://k:35357", id="auth_host"),
        pytest.param(
            f"auth_host = k\nauth_port = 443\nauth_admin_prefix = /admin\n{LEGACY}", "https://k:443/admin", id="prefix"
        ),
        pytest.param(
            "auth_plugin = password\nauth_url = https://k\nuser_name = neutron\npassword = word\n"
            "tenant_name = service\n",
            "https://k",
            id="names of Kilo",
        ),
        pytest.param(
            "auth_type = v2password\nauth_url = https://k/v2.0\nusername = neutron\npassword = word\n"
            "tenant_name = service\n",
            "https://k",
            id="version 2",
        ),
        pytest.param(
            "auth_section = service\n[service]\nauth_type = password\nauth_url = https://k\nusername = neutron\n"
            "password = word\nproject_name = service\n",
            "https://k",
            id="another section",
        ),
    ],
)
def test_login_has_the_names_of_today(text: str, url: str) -> None:
    found = login(text)
    assert (dict(found.options), found.problems) == ({**LOGIN, "auth_url": url}, ())


def test_application_credential_is_carried_over_as_it_is() -> None:
    text = "auth_type = v3applicationcredential\nauth_url = https://k/v3\napplication_credential_id = i\n"
    found = login(f"{text}application_credential_secret = s\nregion_name = None\n")
    assert found.options == {
        "auth_type": "v3applicationcredential",
        "auth_url": "https://k/v3",
        "application_credential_id": "i",
        "application_credential_secret": "s",
    }
    assert "application_credential_secret" in login(text).problems[0]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (LEGACY, "auth_url"),
        ("identity_uri = http://k\nadmin_token = secret-word\n", "username, password not set; admin_token is no login"),
        ("auth_type = v3oidcpassword\n", "auth_type"),
        ("auth_uri = http://k\nmemcached_servers = c:1\n", "username, auth_url, password"),
    ],
)
def test_login_that_is_incomplete_is_a_decision_and_leaves_no_section(text: str, named: str) -> None:
    found = login(text)
    assert not found.options and not found.tokens
    assert (
        named in found.problems[0] and "secret-word" not in found.problems[0] and "word" not in found.problems[0][:20]
    )


def test_options_of_tokens_get_their_names_of_today() -> None:
    found = login(f"identity_uri = http://k\n{LEGACY}auth_uri = http://p/v2.0\nmemcache_servers = c:1\n")
    assert found.tokens == {"memcached_servers": "c:1", "www_authenticate_uri": "http://p"}
