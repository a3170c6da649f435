"""iRules: their language by itself, and what they do to traffic."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from emulator_tests.authority import Authority
from emulator_tests.client import Backend, Client, exchange, fetch
from emulator_tests.test_tls_traffic import SecureMember
from emulator_tests.test_traffic import VIP as PLAIN
from emulator_tests.test_traffic import site
from emulator_tests.tls_site import NEW, believing, client_ssl, connect, get, https, put_file, run
from icontrol_emulator.irules.commands import DeviceCommands
from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.interpreter import Interpreter
from icontrol_emulator.irules.state import DataGroup, Flow, Message
from icontrol_emulator.irules.syntax import SyntaxFault, handlers

Start = Callable[..., Awaitable[Backend]]


# -- the language


GROUPS = {
    "g": DataGroup("string", {"a": "1", "ab": "2", "b": ""}),
    "nets": DataGroup("ip", {"10.0.0.0/8": "wide", "10.1.0.0/16": "narrow", "192.0.2.1/32": ""}),
    "numbers": DataGroup("integer", {"5": "five"}),
}


def result(script: str, headers: dict[str, str] | None = None) -> str:
    """What the variable `out` holds after the script."""
    flow = Flow(client=("10.0.0.1", 4000), local=("10.0.0.2", 443), virtual="/P/v", group=GROUPS.get)
    commands = DeviceCommands(flow)
    commands.message = commands.request = Message(["GET", "/p?q=1", "HTTP/1.1"], list((headers or {}).items()))
    tcl = Interpreter(commands.table)
    tcl.event(script, "HTTP_REQUEST")
    return tcl.variables["out"]


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("set out a; append out b {c d}", "abc d"),
        ('set x 3\nset out "[expr {$x * (2 + 1)}] \\$x ${x}y"', "9 $x 3y"),
        ("set out [string map {a 1 b 2} aabc]", "112c"),
        ("set out {}; foreach {a b} {1 2 3 4} { append out $b$a }", "2143"),
        ("set out 0; for {set i 0} {$i < 5} {incr i} { if {$i == 3} { continue }; incr out $i }", "7"),
        ('if { "abc" starts_with "ab" and not ("x" eq "y") } { set out yes } else { set out no }', "yes"),
        ("if { 0 } { set out a } elseif { 1 > 2 || 2 != 2 } { set out b } else { set out c }", "c"),
        ('switch -glob "w.a.test" { "*.b" { set out 1 } "x" - "*.a.test" { set out 2 } default { set out 3 } }', "2"),
        ('set out [expr { "/a/b.gif" matches_regex {\\.gif$} ? "img" : "other" }]', "img"),
        ("set arr(k) v; set out $arr(k)[info exists arr(z)]", "v0"),
        ('set out [findstr "CN=a,OU=b" "CN=" 3 ","]-[getfield "a:b:c" ":" 2]-[substr "abcdef" 2 2]', "a-b-cd"),
        ("set out [lindex [split a,b,c ,] end]", "c"),
        ("regexp {(\\d+)-(\\d+)} x12-34 all one two; set out $two$one", "3412"),
        ("set out [regexp -all -inline {[^,]+} {a,b c}]", "a {b c}"),
        ("set out [regexp -all {a(b)} abab][regexp -inline {a(b)} abab]", "2ab b"),
        ("set out [regexp {\\yb\\y} {a b}][regexp {\\yb\\y} ab]", "10"),
        ('set out [lindex [list a "b{ \\\\c" d] 1]', "b{ \\c"),
        ("# a comment { that opens\nset out 1", "1"),
        ("set out [HTTP::method][HTTP::path][HTTP::query][HTTP::version]", "GET/pq=11.1"),
        ("set out [class match -value [string tolower A] equals g]", "1"),
        ("set out [lsearch -exact {a b c} b][lsearch {ab bc} c*]", "1-1"),
        ("binary scan [binary format S1c1a* 258 3 xyz] ScA* a b c; set out $a,$b,$c", "258,3,xyz"),
        ('set x "na\\nme\\r"; set out [string map {"\\r" "" "\\n" "-"} $x]', "na-me"),
        ("set out [IP::client_addr]:[TCP::local_port]", "10.0.0.1:443"),
        ("set out [lsort -integer {10 9 1}][lrange {a b c d} 1 end-1]", "1 9 10b c"),
        ("set out [linsert {a c} 1 b],[lreplace {a b c} 1 1 x y],[lsort -unique -decreasing {a b a}]",
         "a b c,a x y c,b a"),
        ("array set a {k 1 l 2}; set out [lsort [array names a]],[array size a],$a(l),[info exists a]", "k l,2,2,1"),
        ("set out [scan {10.20 ff} {%d.%d %x} a b c],$a,$b,$c", "3,10,20,255"),
        ("set out [format {%05.1f|%-4s|%x|%c|%%} 3.14159 ab 255 65]", "003.1|ab  |ff|A|%"),
        ("set out [regexp -all -inline {a(.)} a1a2],[regsub -all {(a)(.)} a1a2 {\\2\\1&}]", "a1 1 a2 2,1aa12aa2"),
        ("set out [regexp -nocase {^[[:alpha:]]+$} AbC][regexp {\\mfoo\\M} {a foo b}]", "11"),
        ("set out [string repeat ab 2][string is integer 12][string is integer {}][string replace abcd 1 2 X]",
         "abab11aXd"),
        ("set out [string first b abcb 2][string totitle ABC][string map -nocase {A x} aA]", "3Abcxx"),
        ("set out [expr {1 << 4 | 3}],[expr {int(3.7) + abs(-2)}],[expr {0x10 ^ 1}]", "19,5,17"),
        ("set out [class match 10.1.2.3 equals nets],[class match -value 10.1.2.3 equals nets]", "1,narrow"),
        ("set out [class lookup 5 numbers],[class match 192.0.2.2 equals nets],[class exists none]", "five,0,0"),
        ("set out [class search -name g starts_with a],[class match -all -name abc starts_with g]", "a,a ab"),
        ("set out [class size g][class type nets][class names g a*][class element -name 1 g]", "3ipa abab"),
        ("set out [class get g a*]", "{a 1} {ab 2}"),
        ("set s [class startsearch g]; while {[class anymore g $s]} {append out [class nextelement -name g $s]}",
         "aabb"),
        ("set out [IP::addr 10.1.2.3/255.0.0.0 equals 10.0.0.0][IP::addr 10.1.2.3 equals 10.2.0.0/16]", "10"),
        ("set out [IP::addr 10.1.2.3 mask 255.255.0.0],[domain www.a.test 2]", "10.1.0.0,a.test"),
        ("set out [URI::path /a/b/c.gif?x=1],[URI::basename /a/b/c.gif],[URI::query /a?x=1&y=2 y]", "/a/b/,c.gif,2"),
        ("table set k 1; table incr k 2; set out [table lookup k],[table lookup none],[table keys -subtable s -count]",
         "3,,0"),
        ("set out [list {a}{b}],[list {a}b]", "a b,a b"),
        ("if {0} { set out a }\nelse { set out b }", "b"),
        ("set n 0; while {$n < 3}\n{ incr n }\nset out $n", "3"),
        ("HTTP::header insert X 1 X 2; set out [HTTP::header values X],[HTTP::header X],[HTTP::header count X]",
         "1 2,2,2"),
        ("HTTP::cookie insert name c value 1; set out [HTTP::cookie c][HTTP::cookie exists d][HTTP::cookie names]",
         "10c"),
        ("HTTP::query a=2; HTTP::path /n; set out [HTTP::uri]", "/n?a=2"),
        ("set static::x 5; set out $static::x", "5"),
        ("set out \\074h1\\0764,[lindex {a\\076b} 0],\\60\\78", "<h1>4,a>b,0\a8"),
        ("set out [b64encode abc][string length [sha1 x]]", "YWJj20"),
    ],
)  # fmt: skip
def test_scripts(script: str, out: str) -> None:
    assert result(script) == out


@pytest.mark.parametrize(
    "script",
    [
        "set out $nothing",
        "expr {1 / 0}",
        "while {1} {}",
        "while {1} {catch {while {1} {}}}",
        'if {"x"} {}',
        "string range",
        "set out [SSL::cert]",
        "HTTP::respond 200; HTTP::respond 200",
        "pool none",
        "class match a equals none",
        "regexp {(} a",
        "string repeat abcdefgh 10000000",
        "format %999999999d 1",
        "expr {[string repeat 9 2000] * 1}",
        "regexp {^(a+)+$} [string repeat a 40]b",
    ],
)
def test_errors(script: str) -> None:
    with pytest.raises(Failed):
        result(script)


@pytest.mark.parametrize(
    "rule",
    [
        "when HTTP_REQUEST {",
        "whenever X { }",
        'when A { set x "a }',
    ],
)
def test_text_that_is_no_rule_is_a_syntax_fault(rule: str) -> None:
    with pytest.raises(SyntaxFault):
        handlers(rule)


def test_handlers_have_priorities() -> None:
    found = handlers("when A priority 10 { set x 1 }\n# comment\nwhen B { }")
    assert [(each.event, each.priority) for each in found] == [("A", 10), ("B", 500)]


# -- traffic


async def rule(device: Client, text: str, name: str = "r") -> str:
    await device.post("ltm/rule", {"name": name, "partition": "P", "apiAnonymous": text})
    return f"/P/{name}"


CERTIFICATES = """
when CLIENTSSL_CLIENTCERT { set seen [SSL::cert count] }
when HTTP_REQUEST {
    foreach name { X-SSL-Client-Verify X-SSL-Client-DN X-SSL-Client-SHA1 } { HTTP::header remove $name }
    HTTP::header insert X-SSL-Client-Has-Cert $seen
    if { [SSL::cert count] > 0 } {
        HTTP::header insert X-SSL-Client-Verify [SSL::verify_result]
        HTTP::header insert X-SSL-Client-DN [X509::subject [SSL::cert 0]]
        HTTP::header insert X-SSL-Issuer [X509::issuer [SSL::cert 0]]
        HTTP::header insert X-SSL-Serial [X509::serial_number [SSL::cert 0]]
        binary scan [sha1 [SSL::cert 0]] H* digest
        HTTP::header insert X-SSL-Client-SHA1 $digest
    }
}
"""


async def test_headers_about_clients_certificates(device: Client, backend: Start) -> None:
    authority, server = Authority(organization_name="Testers"), await backend("a")
    trusted = await put_file(device, "cert", "ca.crt", authority.cert_pem.bytes())
    path = await client_ssl(
        device, "site", trustme.CA().issue_cert("a.test"), peerCertMode="request", caFile=trusted, **NEW
    )
    rules = [await rule(device, CERTIFICATES)]
    port = await https(device, [server], ["http", path], rules=rules)
    good, strange = authority.issue_cert("good.test", common_name="good"), trustme.CA().issue_cert("strange.test")

    async def told(leaf: trustme.LeafCert | None) -> dict[str, str]:
        context = believing()
        if leaf is not None:
            leaf.configure_cert(context)
        reader, writer = await connect(port, context)
        await exchange(reader, writer, "/", b"", **{"X-SSL-Client-Verify": "0", "X-SSL-Client-DN": "CN=forged"})
        writer.close()
        lines = [line.partition(": ") for line in server.last_head.split("\r\n")]
        return {name: value for name, _, value in lines if name.startswith("X-SSL")}

    der = x509.load_pem_x509_certificate(good.cert_chain_pems[0].bytes()).public_bytes(serialization.Encoding.DER)
    said = await told(good)
    assert (said["X-SSL-Client-Has-Cert"], said["X-SSL-Client-Verify"]) == ("1", "0")
    assert said["X-SSL-Client-DN"].startswith("CN=good,")
    assert "O=Testers" in said["X-SSL-Issuer"]
    assert said["X-SSL-Client-SHA1"] == hashlib.sha1(der, usedforsecurity=False).hexdigest()
    assert (await told(strange))["X-SSL-Client-Verify"] == "20"
    assert await told(None) == {"X-SSL-Client-Has-Cert": "0"}


async def test_a_rule_may_refuse_what_the_profile_lets_pass(device: Client, backend: Start) -> None:
    authority = Authority()
    trusted = await put_file(device, "cert", "ca.crt", authority.cert_pem.bytes())
    path = await client_ssl(
        device, "site", trustme.CA().issue_cert("a.test"), peerCertMode="request", caFile=trusted, **NEW
    )
    wrong = "[SSL::cert count] > 0 && [SSL::verify_result] != 0"
    text = f"when CLIENTSSL_HANDSHAKE {{ if {{ {wrong} }} {{ reject\n return }} }}"
    port = await https(device, [await backend("a")], ["http", path], rules=[await rule(device, text)])
    contexts = [believing(), believing(), believing()]
    authority.issue_cert("good.test").configure_cert(contexts[1])
    trustme.CA().issue_cert("bad.test").configure_cert(contexts[2])
    assert [await get(port, context) for context in contexts[:2]] == ["a", "a"]
    with pytest.raises((OSError, asyncio.IncompleteReadError)):
        await get(port, contexts[2])


async def test_redirects_answers_and_refusals(device: Client, backend: Start) -> None:
    text = """
    when HTTP_REQUEST {
        switch -glob [HTTP::path] {
            "/deny" { HTTP::respond 403 content "no" Content-Type "text/plain" }
            "/drop" { reject }
            "/old*" { HTTP::redirect "https://[getfield [HTTP::host] ":" 1]/new[HTTP::uri]" }
        }
    }
    when HTTP_RESPONSE { HTTP::header replace Server nobody; HTTP::header insert X-Was [HTTP::status] }
    """
    port = await site(device, [await backend("a")], ["http"], rules=[await rule(device, text)])
    head, said = await fetch(PLAIN, port)
    assert ("\r\nServer: nobody\r\n" in head, "\r\nX-Was: 200\r\n" in head, said) == (True, True, "a")
    head, said = await fetch(PLAIN, port, "/deny")
    assert (head.split("\r\n")[0], said) == ("HTTP/1.1 403 Forbidden", "no")
    head, _ = await fetch(PLAIN, port, "/old?x=1")
    assert "\r\nLocation: https://test/new/old?x=1\r\n" in head
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(PLAIN, port, "/drop")


async def test_a_rule_chooses_the_pool(device: Client, backend: Start) -> None:
    first, second = await backend("a"), await backend("b")
    await device.post("ltm/pool", {"name": "q", "partition": "P", "members": [f"127.0.0.1:{second.port}"]})
    text = 'when HTTP_REQUEST { if { [HTTP::header "X-To"] eq "q" } { pool q } }'
    port = await site(device, [first], ["http"], rules=[await rule(device, text)])
    reader, writer = await asyncio.open_connection(PLAIN, port)
    said = [(await exchange(reader, writer, **({"X-To": "q"} if to else {})))[1] for to in (0, 1, 1, 0)]
    assert said == ["a", "b", "b", "a"]
    writer.close()


async def test_rules_see_http2_too(device: Client, backend: Start) -> None:
    leaf = trustme.CA().issue_cert("a.test", key_type=trustme.KeyType.RSA)
    path = await client_ssl(device, "site", leaf, renegotiation="disabled", **NEW)
    text = 'when HTTP_REQUEST { if { [HTTP::path] eq "/x" } { HTTP::respond 200 content "[SSL::cipher version]" } }'
    port = await https(device, [await backend("a")], ["http", "http2", path], rules=[await rule(device, text)])
    assert (await run("curl", "-ksS", "--http2", f"https://127.0.8.9:{port}/x")).text == "TLSv1.3"
    assert (await run("curl", "-ksS", "--http2", f"https://127.0.8.9:{port}/y")).text == "a"


NAMES = """
when CLIENTSSL_HANDSHAKE {
    if { [SSL::extensions exists -type 0] } {
        set extension [SSL::extensions -type 0]
        binary scan $extension @9a* name
    }
}
when SERVERSSL_CLIENTHELLO_SEND { if { [info exists extension] } { SSL::extensions insert $extension } }
when HTTP_REQUEST { if { [info exists name] } { HTTP::header insert X-Name $name } }
"""


async def test_the_name_that_a_client_asked_for_is_asked_for_at_members(device: Client) -> None:
    authority = trustme.CA()
    server = SecureMember("m", authority.issue_cert("in.test"))
    await server.start()
    path = await client_ssl(device, "site", authority.issue_cert("a.test"))
    await device.post("ltm/profile/server-ssl", {"name": "out", "partition": "P", "serverName": "other.test"})
    port = await https(device, [server], ["http", path, "/P/out"], rules=[await rule(device, NAMES)])
    assert await get(port, believing(), "a.test") == "m"
    assert "\r\nX-Name: a.test\r\n" in server.last_head
    assert await get(port, believing()) == "m"
    assert server.names == ["a.test", "other.test"]
    await server.stop()


async def test_a_failing_rule_resets(device: Client, backend: Start) -> None:
    failing = await rule(device, "when HTTP_REQUEST { set x $nothing }", "failing")
    port = await site(device, [await backend("a")], ["http"], rules=[failing])
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await fetch(PLAIN, port)


async def test_a_device_refuses_what_is_no_rule(device: Client) -> None:
    body = {"name": "r", "partition": "P", "apiAnonymous": "when HTTP_REQUEST { if { 1 } { }"}
    refused = await device.send("POST", "ltm/rule", body)
    said = "01070151:3: Rule [/P/r] error: /P/r:1: error: [parse error: missing close-brace][]"
    assert (refused.status, refused.message) == (400, said)
