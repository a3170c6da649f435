"""Events and commands that rules may use, and which commands in which events.

Commands by event are those that were measured on devices (bitwisecook/tcl-lsp's document about BIG-IP's parser) for the
commands that it lists, extended to their neighbours of the same kind. Commands that a device has and this emulator has
not are refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from icontrol_emulator.config.schema import names

REQUEST_EVENTS = names("HTTP_REQUEST HTTP_REQUEST_DATA HTTP_REQUEST_SEND HTTP_REQUEST_RELEASE")
RESPONSE_EVENTS = names("HTTP_RESPONSE HTTP_RESPONSE_RELEASE")
CLIENT_SSL_EVENTS = names("CLIENTSSL_CLIENTHELLO CLIENTSSL_CLIENTCERT CLIENTSSL_HANDSHAKE")
SERVER_SSL_EVENTS = names("SERVERSSL_CLIENTHELLO_SEND SERVERSSL_HANDSHAKE")
EVENTS = (
    REQUEST_EVENTS | RESPONSE_EVENTS | CLIENT_SSL_EVENTS | SERVER_SSL_EVENTS
    | names("RULE_INIT CLIENT_ACCEPTED CLIENT_DATA CLIENT_CLOSED LB_SELECTED LB_FAILED SERVER_CONNECTED SERVER_CLOSED")
)  # fmt: skip
"""The events that the emulator raises."""
EVENT_PREFIXES_NOT_EMULATED = (
    "ACCESS_", "ADAPT_", "ANTIFRAUD_", "ASM_", "AUTH_", "AVR_", "BOTDEFENSE_", "CACHE_", "CATEGORY_", "CLASSIFICATION_",
    "CLIENTSSL_", "CLIENT_", "DIAMETER_", "DNS_", "ECA_", "FIX_", "FLOW_", "GENERICMESSAGE_", "GTP_", "HTML_", "HTTP_",
    "ICAP_", "IN_DOSL7_", "IVS_", "JSON_", "L7CHECK_", "LB_", "MQTT_", "MR_", "NAME_", "PCP_", "PEM_", "PERSIST_",
    "PING_", "QOE_", "RADIUS_", "REWRITE_", "RTSP_", "SERVERSSL_", "SERVER_", "SIP_", "SOCKS_", "SSE_", "STREAM_",
    "TAP_", "TDS_", "USER_", "WS_", "XML_", "PROTOCOL_",
)  # fmt: skip

PROFILES_OF_EVENTS: tuple[tuple[frozenset[str], frozenset[str], str], ...] = (
    (REQUEST_EVENTS | RESPONSE_EVENTS, names("http fasthttp"), "HTTP or FASTHTTP"),
    (CLIENT_SSL_EVENTS, names("client-ssl"), "CLIENTSSL"),
    (SERVER_SSL_EVENTS, names("server-ssl"), "SERVERSSL"),
    (names("CLIENT_DATA"), names("tcp udp sctp"), "TCP, UDP or SCTP"),
)
"""Events, the kinds of profiles of which a virtual server needs one, and how the error names them."""

ANY = EVENTS
_RUNNING = EVENTS - {"RULE_INIT"}
_SERVER = names("LB_SELECTED LB_FAILED SERVER_CONNECTED") | SERVER_SSL_EVENTS
_REQUEST = REQUEST_EVENTS | _SERVER | {"RULE_INIT"}
_RESPONSE = RESPONSE_EVENTS | names("LB_SELECTED RULE_INIT")
_HTTP = _REQUEST | _RESPONSE
_ANSWER = names("RULE_INIT HTTP_REQUEST HTTP_REQUEST_DATA HTTP_RESPONSE LB_FAILED")
_BODY = names("RULE_INIT HTTP_REQUEST HTTP_REQUEST_DATA LB_SELECTED HTTP_RESPONSE")
_TLS = _RUNNING - names("CLIENT_ACCEPTED CLIENT_DATA SERVER_CONNECTED CLIENT_CLOSED SERVER_CLOSED LB_FAILED")

_GROUPS: tuple[tuple[frozenset[str], str], ...] = (
    (ANY, """append array b64decode b64encode binary break call catch clock class concat continue crc32 domain
          eval expr findstr for foreach format getfield if incr info join lappend lindex linsert list llength log lrange
          lreplace lsearch lset lsort md5 proc regexp regsub return scan set sha1 sha256 sha512 split string subst
          substr switch unset while TCP::collect TCP::payload TCP::release URI::basename URI::compare URI::decode
          URI::encode URI::host URI::path URI::port URI::protocol URI::query event IP::addr HSL::open
          HSL::send"""),
    (_RUNNING, """IP::client_addr IP::local_addr IP::protocol IP::remote_addr IP::server_addr IP::stats IP::version
               LB::detach
               LB::reselect LB::server PROFILE::exists TCP::client_port TCP::close TCP::local_port TCP::remote_port
               TCP::respond TCP::server_port active_members discard drop node persist pool reject table virtual
               SSL::disable SSL::enable BWC::policy
               SCTP::client_port SCTP::local_port SCTP::remote_port SCTP::respond SCTP::server_port UDP::client_port
               UDP::local_port UDP::remote_port UDP::respond UDP::server_port"""),
    (_HTTP, "HTTP::close HTTP::cookie HTTP::has_responded HTTP::header HTTP::is_keepalive HTTP::version"),
    (_REQUEST, """HTTP::host HTTP::method HTTP::password HTTP::path HTTP::query HTTP::request HTTP::request_num
               HTTP::uri HTTP::username"""),
    (_RESPONSE, "HTTP::is_redirect HTTP::status"),
    (_ANSWER, "HTTP::redirect HTTP::respond"),
    (_BODY, "HTTP::collect HTTP::payload HTTP::release"),
    (_TLS, """SSL::cert SSL::cipher SSL::extensions SSL::sni SSL::verify_result X509::hash X509::issuer
           X509::not_valid_after X509::not_valid_before X509::serial_number X509::subject X509::verify_cert_error_string
           X509::version X509::whole"""),
)  # fmt: skip
COMMANDS: Mapping[str, frozenset[str]] = {name: events for events, group in _GROUPS for name in group.split()}
"""Command -> the events in which it is valid."""

DISABLED = names(
    "auto_execok auto_import auto_load auto_qualify cd eof exec exit fblocked fconfigure fcopy file flush gets glob "
    "interp load namespace open package pid pwd rename seek socket source tell time unknown update vwait"
)
"""Tcl's commands that a device refuses when a rule is loaded."""
NOT_EMULATED = names(
    "accumulate after clientside clone cpu encoding error global imid ifile istats lasthop link_qos listen "
    "members nexthop nodes parray peer priority puts radius rateclass redirect rmd160 relate_client relate_server "
    "serverside session sharedvar snat snatpool traffic_group trace translate tcp uplevel upvar urlcatquery use "
    "variable whereis sha384 htonl htons ntohl ntohs ip_protocol ip_tos ip_ttl vlan_id http_uri http_host http_header "
    "http_cookie http_method http_version local_addr remote_addr client_addr server_addr decode_uri"
)
NAMESPACES = names(
    "AAA ACCESS ACL ADAPT AES AM ANTIFRAUD APM ASM ASN1 AUTH AVR BIGPROTO BIGTCP BOTDEFENSE BWC CACHE CATEGORY "
    "CLASSIFY CLASSIFICATION COMPRESS CONNECTOR CRYPTO DATAGRAM DEMANGLE DHCP DIAMETER DNS DNSMSG DOSL7 DSLITE ECA FIX "
    "FLOW FLOWTABLE FTP GENERICMESSAGE GTP HA HSL HTML HTTP HTTP2 ICAP IKE ILX IMAP INTERNAL IP IPFIX ISESSION ISTATS "
    "IVS JSON L7CHECK LB LDAP LINE LINK LSN MESSAGE MQTT MR NAME NSH NTLM OFFBOX ONECONNECT PCP PEM PLUGIN POLICY POP3 "
    "PROFILE PROTOCOL_INSPECTION PSC PSM QOE RADIUS RESOLV RESOLVER REST REWRITE ROUTE RTSP SCTP SDP SIP SIPALG SMTPS "
    "SOCKS SSE SSL STATS STREAM TAP TCP TDS TMM UDP URI VALIDATE VDI WAM WS X509 XLAT XML"
)
"""F5's namespaces of commands."""


def is_foreign(name: str) -> bool:
    """Whether a device has this command and the emulator has not."""
    return name in NOT_EMULATED or name.partition("::")[0] in NAMESPACES


def needed_profiles(event: str) -> tuple[frozenset[str], str]:
    """The kinds of profiles of which a virtual server needs one for this event, and their names in the error."""
    return next(((kinds, text) for events, kinds, text in PROFILES_OF_EVENTS if event in events), (frozenset(), ""))
