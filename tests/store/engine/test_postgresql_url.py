"""Options of PostgreSQL's URL, with a real server that speaks TLS."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from sqlalchemy import text

from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.store.engine.database import missing_tls_setting, open_database
from tests.services.postgres import PostgreSQL


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("sslmod=require", "'sslmod' is not an option of postgresql; use host, port, ssl_min_protocol_version, sslc"),
        ("sslmode=on", "sslmode='on': allowed are disable, allow, prefer, require, verify-ca, verify-full"),
        ("sslmode=verify-full", "sslmode=verify-full needs sslrootcert"),
        ("sslrootcert=/not/there", "sslrootcert='/not/there': No such file or directory"),
        ("target_session_attrs=master", "target_session_attrs='master': allowed are any,"),
    ],
)
def test_unsupported_url_option_is_refused_by_name(query: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"^database\.connection: ") as refusal:
        open_database(f"postgresql://u:s3cret@db/evenkeel?{query}")
    assert told in str(refusal.value) and "s3cret" not in str(refusal.value)


def test_invalid_url_or_certificate_is_refused_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^database\.connection: not a URL") as refusal:
        open_database("u:s3cret@db")
    assert "s3cret" not in str(refusal.value)
    (tmp_path / "ca").write_text("no certificate")
    with pytest.raises(ValueError, match="not certificates in PEM form"):
        open_database(f"postgresql://u@db/evenkeel?sslmode=verify-full&sslrootcert={tmp_path}/ca")


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("sqlite:////var/lib/x.db", ""),
        ("postgresql://u@127.0.0.1/x", ""),
        ("postgresql://u@/x?host=/run/postgresql", ""),
        ("postgresql://u@db/x", "set sslmode=verify-full and sslrootcert in the URL"),
        ("postgresql://u@db/x?sslmode=require", "set sslmode=verify-full and sslrootcert in the URL"),
        ("postgresql://u@db/x?sslmode=verify-ca&sslrootcert=/x", ""),
        ("mysql://u@db/x", "set ssl_ca in the URL"),
        ("mysql://u@db/x?ssl_ca=/x", ""),
        ("mysql://u@localhost/x?unix_socket=/run/x", ""),
    ],
)
def test_a_way_on_which_strangers_can_read_is_warned_of(url: str, advice: str) -> None:
    assert missing_tls_setting(url) == advice


@pytest.fixture
def with_tls(own_postgresql: PostgreSQL, tmp_path: Path) -> Iterator[trustme.CA]:
    authority = trustme.CA()
    own_postgresql.use_certificate(authority.issue_cert("localhost", "127.0.0.1"))
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    yield authority
    own_postgresql.use_certificate(None)


@pytest.mark.services
async def test_the_servers_certificate_is_verified_as_libpq_does(
    own_postgresql: PostgreSQL, with_tls: trustme.CA, own_postgresql_database: str, tmp_path: Path
) -> None:
    async def version_of(query: str) -> str:
        database = open_database(f"{own_postgresql_database}?{query}")
        statement = text("SELECT COALESCE(version, '') FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        try:
            return str(await database.read(lambda connection: connection.scalar(statement)))
        finally:
            await database.close()

    verified = f"sslmode=verify-full&sslrootcert={tmp_path}/ca.pem"
    assert await version_of(f"{verified}&ssl_min_protocol_version=TLSv1.3") == "TLSv1.3"
    assert await version_of(f"sslmode=verify-ca&sslrootcert={tmp_path}/ca.pem") == "TLSv1.3"
    assert await version_of("sslmode=require") == "TLSv1.3"
    assert await version_of("sslmode=disable") == ""
    with pytest.raises(StoreUnavailable):
        await version_of(f"sslmode=verify-full&sslrootcert={tmp_path}/other.pem")
