"""What is taken of a load balancer before HAProxy sees it."""

from pathlib import Path

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.partition.validation import load_balancer_problem
from evenkeel.haproxyd.settings import DaemonSettings

SETTINGS = DaemonSettings(name="host-1", state_dir=Path("/nowhere"), run_dir=Path("/nowhere"))


def balancer(**changes: object) -> wire.LoadBalancerConfig:
    return wire.LoadBalancerConfig(**{"id": "lb", "revision": 1, **changes})


def pinged_at(address: str) -> wire.LoadBalancerConfig:
    server = wire.BackendServer(name="s", address="192.0.2.1", port=80, ping_address=address)
    return balancer(backends=(wire.Backend(name="b", servers=(server,)),))


def test_a_note_has_a_limit() -> None:
    assert load_balancer_problem(balancer(note="n" * 65_536), SETTINGS) == ""
    assert (
        load_balancer_problem(balancer(note="n" * 65_537), SETTINGS)
        == "note: 65537 characters given; at most 65536 are allowed"
    )


@pytest.mark.parametrize("address", ["192.0.2.9", "2001:db8::9"])
def test_echoes_may_go_to_any_address(address: str) -> None:
    assert load_balancer_problem(pinged_at(address), SETTINGS) == ""


@pytest.mark.parametrize("address", ["", "x", "192.0.2.9:80", "fe80::1%eth0"])
def test_echoes_go_to_nothing_but_an_address(address: str) -> None:
    problem = load_balancer_problem(pinged_at(address), SETTINGS)
    assert "backend b: server s: ping_address: address is" in problem


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0", "255.255.255.255", "224.0.0.1"],
)
def test_no_server_leads_a_host_to_itself(address: str) -> None:
    def problem(**changes: object) -> str:
        server = wire.BackendServer(**{"name": "s", "address": "192.0.2.1", "port": 80, **changes})
        return load_balancer_problem(balancer(backends=(wire.Backend(name="b", servers=(server,)),)), SETTINGS)

    bracketed = f"[{address}]" if ":" in address else address
    for said in (
        problem(address=address),
        problem(ping_address=address),
        problem(arguments=("check", "addr", bracketed)),
        problem(arguments=(f"check addr {bracketed}",)),
    ):
        assert f"address is '{address}'" in said and "is allowed" in said
    frontend = wire.Frontend(name="f", binds=(wire.Bind(address=address, port=80),))
    assert f"bind: address is '{address}'" in load_balancer_problem(balancer(frontends=(frontend,)), SETTINGS)
    target = wire.LogTarget(address=address, port=514)
    logging = wire.Frontend(name="f", binds=(wire.Bind(address="192.0.2.2", port=80),), access_log=target)
    assert f"access_log: address is '{address}'" in load_balancer_problem(balancer(frontends=(logging,)), SETTINGS)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "addr"),
        ("addr", "localhost"),
        ("addr", "ipv4@127.0.0.1"),
        ("addr", "unix@/run/x"),
        ("agent-check", "agent-addr", "127.0.0.1"),
        ("source", "0.0.0.0", "usesrc", "clientip"),
        ("socks4", "127.0.0.1:80"),
        ("resolvers", "x", "init-addr", "127.0.0.1"),
        ('a"dd"r', "127.0.0.1"),
        ("ad${X}dr", "127.0.0.1"),
        ("ad\\dr", "127.0.0.1"),
    ],
)
def test_a_servers_arguments_hide_no_address(arguments: tuple[str, ...]) -> None:
    server = wire.BackendServer(name="s", address="192.0.2.1", port=80, arguments=arguments)
    assert load_balancer_problem(balancer(backends=(wire.Backend(name="b", servers=(server,)),)), SETTINGS)


@pytest.mark.parametrize(
    "line",
    [
        "option transparent",
        "option 'transparent'",
        "option 'trans'parent",
        "option http_proxy",
        "http-request set-dst ipv4(127.0.0.1)",
        "http-request  set-dst-port int(9876)",
        "http-request do-resolve(txn.a,r) str(localhost)",
        "tcp-request content set-dst ipv4(127.0.0.1)",
        "tcp-request session attach-srv b/s",
        "tcp-check connect addr 127.0.0.1 port 9876",
        "http-check connect addr 127.0.0.1",
        "http-request set-src ipv4(192.0.2.1)",
        "http-request set-map(listener-2:names) a b",
        "http-request add-acl(listener-2:cidrs) src",
        "http-request use-service prometheus-exporter",
        "http-request lua.any",
        "http-request",
        "tcp-request content",
        "tcp-request content lua.any",
    ],
)
def test_no_line_sends_a_connection_elsewhere(line: str) -> None:
    backend = wire.Backend(name="b", lines=(line,))
    assert "only servers determine where" in load_balancer_problem(balancer(backends=(backend,)), SETTINGS)


@pytest.mark.parametrize(
    "line",
    [
        'http-request set"-"dst ipv4(127.0.0.1)',
        'http-request "set${NONE}-dst" ipv4(127.0.0.1)',
        "http-request \\x73et-dst ipv4(127.0.0.1)",
        "option \\x74ransparent",
        "http-request return status 200 content-type text/plain \\x66ile /etc/passwd",
        'http-request return status 200 content-type text/plain "fi"le credentials',
        "acl x src \\x2df /etc/passwd",
        "http-request set-header x %[path,\\x6dap(/etc/passwd)]",
        "acl a path 'open",
        "acl a path a\\",
        "acl a path $x",
        "acl a path # x",
    ],
)
def test_lines_are_quoted_in_one_way_only_so_that_haproxy_reads_the_words_that_are_validated(line: str) -> None:
    backend = wire.Backend(name="b", lines=(line,))
    assert "other quoting than is allowed" in load_balancer_problem(balancer(backends=(backend,)), SETTINGS)


def test_a_value_that_looks_like_one_of_those_words_is_a_value() -> None:
    backend = wire.Backend(name="b", lines=("http-request deny if { path -m beg /set-dst transparent }",))
    assert load_balancer_problem(balancer(backends=(backend,)), SETTINGS) == ""


@pytest.mark.parametrize(
    "line",
    [
        "http-request return status 200 content-type text/plain file /etc/evenkeel/haproxyd/credentials",
        "http-request return status 200 content-type text/plain lf-file ../../../guard.json",
        "http-request return status 200 content-type text/plain 'fi'le credentials",
        "http-request deny deny_status 403 errorfile /etc/passwd",
        "http-error status 503 content-type text/plain file /etc/passwd",
        "http-after-response set-header x %[src,map(/etc/passwd)]",
        "http-request set-header x %[src,map_str_int( /etc/passwd,0)]",
        "acl a src -f /etc/passwd",
        "acl a src -M -f ../x",
        "acl a src -f file@/etc/passwd -- b",
        "tcp-request connection reject if { src -f /etc/passwd }",
        "stick on src,map(/etc/passwd)",
        "acl -- src -f /etc/passwd",
        "acl -- path,map_str_ip(/etc/passwd) -m found",
        "acl a http_auth_bearer,jwt_verify(txn.algorithm,/etc/passwd) -m int 1",
        "acl a 'path,map(\"/etc/passwd\")' -m found",
        "http-request return status 200 content-type text/plain lf-string %[path,map(key)]",
        "http-request set-header x %[src,map(of-another)]",
    ],
)
def test_no_line_reads_a_file_that_is_not_the_load_balancers_or_has_a_private_key(line: str) -> None:
    backend, key = wire.Backend(name="b", lines=(line,)), wire.File(name="key", kind="certificate", content="PEM")
    assert "files of the load balancer alone" in load_balancer_problem(
        balancer(backends=(backend,), files=(key,)), SETTINGS
    )


@pytest.mark.parametrize(
    "line",
    [
        "http-request return status 503 content-type text/plain file own hdr X file",
        "http-request return status 503 content-type text/plain file key",
        "http-request return status 503 content-type text/plain file list",
        "http-request return status 503 content-type text/plain file others",
        "http-request return status 503 content-type text/plain lf-file own",
        "http-request deny deny_status 403 errorfile own",
        "http-error status 503 content-type text/plain file ./own",
        "http-error status 503 content-type text/plain file",
    ],
)
def test_clients_are_sent_no_file_but_pages_of_the_load_balancer(line: str) -> None:
    def told(line: str) -> str:
        pem = "-----BEGIN CERTIFICATE-----"
        files = (
            wire.File(name="own", kind="page", content="sorry"),
            wire.File(name="key", kind="certificate", content=pem),
            wire.File(name="list", kind="acl", content="192.0.2.1"),
        )
        return load_balancer_problem(balancer(backends=(wire.Backend(name="b", lines=(line,)),), files=files), SETTINGS)

    assert told("http-request return status 503 content-type text/plain file own hdr Retry-After 5") == ""
    assert told("http-error status 503 content-type text/plain file own") == ""
    assert "files of the load balancer alone" in told(line)


@pytest.mark.parametrize(
    "line",
    [
        "tcp-request connection reject unless { src -f listener-1:cidrs }",
        "acl a path -m beg -- -f",
        "acl a path -- -f /etc/passwd",
        "acl a path -m str -- '-f /etc/passwd file'",
        "http-request redirect location http://a.test/file/-f code 302",
        "http-request set-header x %[src,map(names)]",
    ],
)
def test_files_of_its_own_and_texts_that_look_like_files_are_taken(line: str) -> None:
    backend, names = wire.Backend(name="b", lines=(line,)), wire.File(name="names", kind="map", content="")
    assert load_balancer_problem(balancer(backends=(backend,), files=(names,)), SETTINGS) == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("ssl", "crt", "/etc/x.pem"),
        ("ssl", "crt", "a/../../x"),
        ("ssl crt ${X}/y",),
        ("ssl", "sni", "path,map(/etc/passwd)"),
        ("ssl", "sni", "path,map_str_ip(", "/etc/passwd)"),
        ("ssl", "default-crt", "_peer.pem"),
        ("ssl", "#"),
        ("namespace", "other"),
    ],
)
def test_no_argument_names_a_file_elsewhere(arguments: tuple[str, ...]) -> None:
    bound = wire.Frontend(name="f", binds=(wire.Bind(address="192.0.2.1", port=1),), bind_arguments=arguments)
    server = wire.BackendServer(name="s", address="192.0.2.1", port=80, arguments=arguments)
    assert "arguments" in load_balancer_problem(balancer(frontends=(bound,)), SETTINGS)
    assert "arguments" in load_balancer_problem(
        balancer(backends=(wire.Backend(name="b", servers=(server,)),)), SETTINGS
    )


def files(**contents: str) -> tuple[wire.File, ...]:
    """By kind: ``list`` is of kind crt_list."""
    kinds = {"list": "crt_list", "cert": "certificate"}
    return tuple(wire.File(name=f"{key}.x", kind=kinds.get(key, key), content=text) for key, text in contents.items())


FILES = files(cert="PEM", list="cert.x\n", ca="PEM", crl="PEM", acl="10.0.0.0/8\n")


@pytest.mark.parametrize(
    ("words", "taken"),
    [
        ("ssl crt-list list.x verify optional ca-file ca.x crl-file crl.x ciphers DEFAULT:@SECLEVEL=0", True),
        ("ssl crt cert.x ca-verify-file ca.x", True),
        ("ssl crt other.x", False),
        ("ssl crt _peer.pem", False),
        ("ssl crt acl.x", False),
        ("ssl crt-list cert.x", False),
        ("ssl crt list.x", False),
        ("ssl crt", False),
        ("ssl ca-file cert.x", False),
        ("ssl ca-file @system-ca", False),
        ("ssl crl-file ca.x", False),
        ("ssl crt cert.x ca-sign-file cert.x", False),
        ("ssl crt cert.x tls-ticket-keys acl.x", False),
    ],
)
def test_arguments_name_files_of_the_load_balancer_of_the_right_kind(words: str, taken: bool) -> None:
    arguments = tuple(words.split())
    bound = wire.Frontend(name="f", binds=(wire.Bind(address="192.0.2.1", port=1),), bind_arguments=arguments)
    server = wire.BackendServer(name="s", address="192.0.2.1", port=80, arguments=(words,))
    for one in (
        balancer(frontends=(bound,), files=FILES),
        balancer(backends=(wire.Backend(name="b", servers=(server,)),), files=FILES),
    ):
        problem = load_balancer_problem(one, SETTINGS)
        assert (problem == "") == taken, problem


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        ("cert.x", True),
        ("cert.x [alpn h2,http/1.1 ssl-min-ver TLSv1.2] *.example.org !a.example.org example.org", True),
        ("cert.x [ca-file ca.x verify required] example.org", True),
        ("", True),
        ("other.x", False),
        ("ca.x", False),
        ("/etc/evenkeel/haproxyd/server.pem", False),
        ("../held/cert.x", False),
        ("cert.x [ca-file /etc/passwd]", False),
        ("cert.x [ca-file ../x]", False),
        ("cert.x [ca-file cert.x]", False),
        ("cert.x [ca-file]", False),
        ("cert.x [alpn h2", False),
        ("cert.x [alpn] [h2]", False),
        ("cert.x example.org/x", False),
        ("cert.x exa$mple.org", False),
        ("cert.x\rother.x", False),
        ("# comment", False),
        ("cert.x " + "a" * 5000, False),
    ],
)
def test_a_list_names_certificates_of_the_load_balancer_and_nothing_else(line: str, taken: bool) -> None:
    listed = files(cert="PEM", ca="PEM", list=f"cert.x\n{line}\n")
    problem = load_balancer_problem(balancer(files=listed), SETTINGS)
    assert (problem == "") == taken, problem
    assert taken or problem.startswith("file list.x: line 2 ")


def test_files_have_limits_of_number_and_size() -> None:
    small = DaemonSettings(
        name="h", state_dir=Path("/x"), run_dir=Path("/x"), files_max=5, certificate_bytes_max=10, files_bytes_max=40
    )
    assert load_balancer_problem(balancer(files=FILES), small) == ""
    assert (
        load_balancer_problem(balancer(files=files(cert="PEM" * 4)), small)
        == "file cert.x: 12 bytes given; at most 10 are allowed"
    )
    assert (
        load_balancer_problem(balancer(files=files(ca="x" * 41)), small)
        == "files: 41 bytes given; at most 40 are allowed"
    )
    many = tuple(wire.File(name=f"{number}.x", kind="acl", content="") for number in range(6))
    assert load_balancer_problem(balancer(files=many), small) == "files: 6 given; at most 5 are allowed"


def test_no_error_repeats_what_is_in_a_certificate() -> None:
    for content in ("SECRET\0", "SECRET" * 30_000):
        assert "SECRET" not in load_balancer_problem(balancer(files=files(cert=content)), SETTINGS)
