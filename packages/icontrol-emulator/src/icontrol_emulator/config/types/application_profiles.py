"""Profiles of application protocols and of modules around them.

Defaults as recorded from 14.1.2.1 in CiscoTestAutomation/genieparser, except those marked: they are from memory. They
accept properties that are not listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.schema import TypeSpec


def _profile(path: str, root: str, defaults: Mapping[str, Any] | None = None, *, word: str = "profile") -> TypeSpec:
    shared = {"appService": "none", "description": "none"}
    return TypeSpec(
        path=f"ltm/{path}", word=word, family="profile", rules=BuiltInRules(), inherits=True,
        root=f"/Common/{root}" if root else "", defaults={**shared, **(defaults or {})}, open=True,
    )  # fmt: skip


_LOG = {"logProfile": "none", "logPublisher": "none"}
_DHCP = {
    "authentication": {"enabled": "false", "userName": {"format": "mac-address", "separator1": "@", "separator2": "@",
                                                        "tcl": "none"}, "virtual": "none"},
    "defaultLeaseTime": 86400, "idleTimeout": "60", "mode": "relay",
}  # fmt: skip
_DIAMETER = {
    "connectionPrime": "disabled", "destinationRealm": "none", "handshakeTimeout": 10, "hostIpRewrite": "enabled",
    "maxRetransmitAttempts": 1, "maxWatchdogFailure": 10, "originHostToClient": "none", "originHostToServer": "none",
    "originRealmToClient": "none", "originRealmToServer": "none", "overwriteDestinationHost": "disabled",
    "parentAvp": "none", "persistAvp": "none", "resetOnTimeout": "enabled", "retransmitTimeout": 10,
    "subscriberAware": "disabled", "subscriberIdType": "subscriber-id", "watchdogTimeout": 0,
}  # fmt: skip
_DNS = {
    "avrDnsstatSampleRate": 0, "cache": "none", "dns64": "disabled", "dns64AdditionalSectionRewrite": "disabled",
    "dns64Prefix": "any6", "dnsSecurity": "none", "edns0ClientSubnetInsert": "disabled", "enableCache": "no",
    "enableDnsExpress": "yes", "enableDnsFirewall": "no", "enableDnssec": "yes", "enableGtm": "yes",
    "enableHardwareQueryValidation": "no", "enableHardwareResponseCache": "no", "enableLogging": "no",
    "enableRapidResponse": "no", "logProfile": "none", "processRd": "yes", "processXfr": "no",
    "rapidResponseLastAction": "drop", "unhandledQueryAction": "allow", "useLocalBind": "yes",
}  # fmt: skip
_FTP = {
    "allowActiveMode": "enabled", "allowFtps": "disabled", "enforceTlsSessionReuse": "disabled",
    "ftpsMode": "disallow", "inheritParentProfile": "disabled", "inheritVlanList": "disabled", "port": 20,
    "security": "disabled", "translateExtended": "enabled", **_LOG,
}  # fmt: skip
_REQUEST_LOG = {
    "logRequestLoggingErrors": "no", "logResponseByDefault": "yes", "logResponseLoggingErrors": "disabled",
    "proxyCloseOnError": "no", "proxyRespondOnLoggingError": "no", "proxyResponse": "none",
    "requestLogErrorPool": "none", "requestLogErrorProtocol": "mds-udp", "requestLogErrorTemplate": "none",
    "requestLogPool": "none", "requestLogProtocol": "mds-udp", "requestLogTemplate": "none",
    "requestLogging": "disabled", "responseLogErrorPool": "none", "responseLogErrorProtocol": "mds-udp",
    "responseLogErrorTemplate": "none", "responseLogPool": "none", "responseLogProtocol": "mds-udp",
    "responseLogTemplate": "none", "responseLogging": "disabled",
}  # fmt: skip
_RTSP = {
    "checkSource": "enabled", "idleTimeout": "300", "maxHeaderSize": 4096, "maxQueuedData": 32768,
    "multicastRedirect": "disabled", "proxy": "none", "proxyHeader": "none", "realHttpPersistence": "enabled",
    "rtcpPort": 0, "rtpPort": 0, "sessionReconnect": "disabled", "unicastRedirect": "disabled", **_LOG,
}  # fmt: skip
_SIP = {
    "algEnable": "disabled", "community": "none", "dialogAware": "disabled", "dialogEstablishmentTimeout": 10,
    "enableSipFirewall": "no", "insertRecordRouteHeader": "disabled", "insertViaHeader": "disabled",
    "maxMediaSessions": 6, "maxRegistrations": 100, "maxSessionsPerRegistration": 50, "maxSize": 65535,
    "registrationTimeout": 3600, "rtpProxyStyle": "symmetric", "secureViaHeader": "disabled",
    "security": "disabled", "sipSessionTimeout": 300, "terminateOnBye": "enabled", "userViaHeader": "none", **_LOG,
}  # fmt: skip
_NTLM = {
    "insertCookieDomain": "none", "insertCookieName": "NTLMconnpool", "insertCookiePassphrase": "mypassphrase",
    "keyByCookie": "disabled", "keyByCookieName": "mycookie", "keyByDomain": "disabled", "keyByIpAddress": "disabled",
    "keyByTarget": "disabled", "keyByUser": "disabled", "keyByWorkstation": "disabled",
}  # fmt: skip
_ADAPT = {"allowHttp_10": "no", "enabled": "yes", "internalVirtual": "none", "previewSize": 1024,
          "serviceDownAction": "ignore", "timeout": 0}  # fmt: skip

SPECS = [
    _profile("profile/sip", "sip", _SIP),
    _profile("profile/diameter", "diameter", _DIAMETER),
    _profile("profile/dhcpv4", "dhcpv4", _DHCP),
    _profile("profile/dhcpv6", "dhcpv6", _DHCP),
    _profile("profile/dns", "dns", _DNS, word="DNS Profile"),
    _profile("profile/ftp", "ftp", _FTP),
    _profile("profile/stream", "stream", {"chunkSize": 4096, "chunking": "disabled", "source": "none",
                                          "tmTarget": "none"}),
    _profile("profile/websocket", "websocket", {"masking": "selective"}),
    _profile("profile/request-log", "request-log", _REQUEST_LOG),
    _profile("profile/statistics", "stats"),
    _profile("profile/analytics", "analytics", {"collectedStatsInternalLogging": "enabled"}),
    _profile("profile/html", "html", {"contentDetection": "disabled", "contentSelection": ["text/html", "text/xhtml"]}),
    _profile("profile/rewrite", "rewrite", {"rewriteMode": "uri-translation"}),
    _profile("profile/rtsp", "rtsp", _RTSP),
    _profile("profile/socks", "socks", {"defaultConnectHandling": "deny", "dnsResolver": "none", "ipv6": "no",
             "protocolVersions": ["socks4", "socks4a", "socks5"], "routeDomain": "/Common/0",
             "tunnelName": "/Common/socks-tunnel"}),
    _profile("profile/icap", "icap", {"headerFrom": "none", "host": "none", "previewLength": 0, "referer": "none",
                                      "uri": "none", "userAgent": "none"}),
    _profile("profile/fix", "fix", {"errorAction": "dont-forward", "fullLogonParsing": "true", "messageLogPublisher":
             "none", "quickParsing": "false", "reportLogPublisher": "none", "responseParsing": "false",
             "senderTagClass": [], "statisticsSampleInterval": 20}),
    _profile("profile/mblb", "mblb", {"egressHigh": 50, "egressLow": 5, "ingressHigh": 50, "ingressLow": 5,
             "isolateAbort": "enabled", "isolateClient": "disabled", "isolateExpire": "enabled", "isolateServer":
             "disabled", "minConn": 0, "shutdownTimeout": 5, "tagTtl": 60}),
    _profile("profile/ntlm", "ntlm", _NTLM),
    _profile("profile/pptp", "pptp", {"csvFormat": "disabled", "includeDestinationIp": "disabled",
                                      "publisherName": "none"}),
    _profile("profile/radius", "radiusLB", {"clients": [], "persistAvp": "none"}),
    _profile("profile/request-adapt", "requestadapt", _ADAPT),
    _profile("profile/response-adapt", "responseadapt", _ADAPT),
    _profile("profile/client-ldap", "clientldap", {"activationMode": "require"}),
    _profile("profile/server-ldap", "serverldap", {"activationMode": "none"}),
    _profile("profile/smtps", "smtps", {"activationMode": "require"}),
    _profile("profile/smtp", "smtp", {"security": "disabled"}),  # from memory
    _profile("profile/tftp", "tftp", {"idleTimeout": "30", **_LOG}),
    _profile("profile/xml", "xml", {"multipleQueryMatches": "disabled", "namespaceMappings": [], "xpathQueries": []}),
    _profile("profile/gtp", "gtp", {"ingressMax": 0}),
    _profile("profile/dns-logging", ""),
    _profile("profile/classification", "classification", {"appDetection": "on", "urlCategorization": "off"}),  # memory
    _profile("profile/certificate-authority", "certificateauthority", {"authenticateDepth": 9, "caFile": "none",
             "crlFile": "none", "updateCrl": "no"}),
    _profile("profile/ipsecalg", "ipsecalg", {"idleTimeout": "3600", "initialConnectionTimeout": 3,
             "pendingIkeConnectionLimit": 5, **_LOG}),
    _profile("profile/qoe", "qoe", {"video": "false"}),
    _profile("profile/web-security", "websecurity"),
    _profile("profile/iiop", "iiop", {"abortOnTimeout": "disabled", "persistObjectKey": "disabled",
             "persistRequestId": "disabled", "timeout": "30"}),  # from memory
    _profile("profile/netflow", "netflow", {"idleTimeout": "60"}),  # from memory
    _profile("profile/pcp", "pcp", {"announceAfterFailover": "disabled", "thirdPartyOption": "disabled"}),  # memory
    _profile("profile/mssql", "mssql"),  # from memory
    _profile("profile/spdy", "spdy", {"activationMode": "npn", "concurrentStreamsPerConnection": 10,
             "connectionIdleTimeout": 300}),  # from memory
    _profile("profile/ocsp-stapling-params", "", {"cacheErrorTimeout": 3600, "cacheTimeout": "indefinite",
             "clockSkew": 300, "signHash": "sha256", "statusAge": 86400, "strictRespCertCheck": "disabled",
             "timeout": 8}),  # from memory
    # those up to tcp-analytics: from memory
    _profile("profile/connector", "connector", {"connectOnData": "disabled", "entryVirtualServer": "none",
             "serviceDownAction": "ignore"}),
    _profile("profile/json", "json", {"maximumBytes": 65536, "maximumEntries": 2048, "maximumNonJsonBytes": 32768}),
    _profile("profile/service", "service", {"type": "inline"}),
    _profile("profile/splitsessionclient", "splitsessionclient", {"localPeer": "false", "peerIp": "any6",
             "peerPort": 0, "sessionLookup": "flow"}),
    _profile("profile/splitsessionserver", "splitsessionserver", {"listenIp": "any6", "listenPort": 0,
             "localPeer": "false", "sessionLookup": "flow"}),
    _profile("profile/sse", "sse", {"maxBufferedMsgBytes": 65536, "maxFieldNameSize": 1024}),
    _profile("profile/tcp-analytics", "tcp-analytics", {"collectedByClientSide": "enabled", "collectRtt": "enabled",
             "collectGoodput": "enabled", "externalLoggingPublisher": "none"}),
    _profile("message-routing/sip/profile/session", "sipsession", {"maxMsgSize": 65535}),
    _profile("message-routing/sip/profile/router", "siprouter", {"operationMode": "load-balancing"}),
    _profile("message-routing/diameter/profile/session", "diametersession", {"maxMessageSize": 0}),
    _profile("message-routing/diameter/profile/router", "diameterrouter", {}),
]  # fmt: skip

ROOTS = {spec.root: spec.path for spec in SPECS if spec.root}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "/Common/radiusLB-subscriber-aware": ("ltm/profile/radius", {"persistAvp": "none"}),
}
