"""Profiles. All kinds share one name space; a child inherits its parent's values where its own are unset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator.config.rules.misc import BuiltInRules, HttpProfileRules
from icontrol_emulator.config.rules.ssl import SslProfileRules
from icontrol_emulator.config.schema import Ref, TypeSpec, names

_HTTP = {
    "acceptXff": "disabled", "basicAuthRealm": "none", "encryptCookies": [], "explicitProxy": {
        "badRequestMessage": "none", "badResponseMessage": "none", "connectErrorMessage": "none",
        "defaultConnectHandling": "deny", "dnsErrorMessage": "none", "dnsResolver": "none", "hostNames": [],
        "ipv6": "no", "routeDomain": "none", "tunnelName": "none", "tunnelOnAnyRequest": "no",
    },
    "enforcement": {
        "allowWsHeaderName": "disabled", "excessClientHeaders": "reject", "excessServerHeaders": "reject",
        "knownMethods": ["CONNECT", "DELETE", "GET", "HEAD", "LOCK", "OPTIONS", "POST", "PROPFIND", "PUT", "TRACE",
                         "UNLOCK"],
        "maxHeaderCount": 64, "maxHeaderSize": 32768, "maxRequests": 0, "oversizeClientHeaders": "reject",
        "oversizeServerHeaders": "reject", "pipeline": "allow", "rfcCompliance": "disabled",
        "truncatedRedirects": "disabled", "unknownMethod": "allow",
    },
    "fallbackHost": "none", "fallbackStatusCodes": [], "headerErase": "none", "headerInsert": "none",
    "hsts": {"includeSubdomains": "enabled", "maximumAge": 16070400, "mode": "disabled", "preload": "disabled"},
    "insertXforwardedFor": "disabled", "lwsSeparator": "none", "lwsWidth": 80,
    "oneconnectTransformations": "enabled", "oneconnectStatusReuse": "200 206", "proxyType": "reverse",
    "redirectRewrite": "none", "requestChunking": "sustain", "responseChunking": "sustain",
    "responseHeadersPermitted": [], "serverAgentName": "BigIP",
    "sflow": {"pollInterval": 0, "pollIntervalGlobal": "yes", "samplingRate": 0, "samplingRateGlobal": "yes"},
    "viaHostName": "none", "viaRequest": "preserve", "viaResponse": "preserve", "xffAlternativeNames": [],
}  # fmt: skip
_TCP = {
    "abc": "enabled", "ackOnPush": "enabled", "autoProxyBufferSize": "enabled", "autoReceiveWindowSize": "enabled",
    "autoSendBufferSize": "enabled", "closeWaitTimeout": 5, "cmetricsCache": "enabled",
    "cmetricsCacheTimeout": 0, "congestionControl": "high-speed", "deferredAccept": "disabled",
    "delayWindowControl": "disabled", "delayedAcks": "enabled", "dsack": "disabled", "earlyRetransmit": "enabled",
    "ecn": "enabled", "enhancedLossRecovery": "enabled", "fastOpen": "enabled", "fastOpenCookieExpiration": 21600,
    "finWait_2Timeout": 300, "finWaitTimeout": 5, "hardwareSynCookie": "enabled", "idleTimeout": 300,
    "initCwnd": 10, "initRwnd": 10, "ipDfMode": "pmtu", "ipTosToClient": "0", "ipTtlMode": "proxy",
    "ipTtlV4": 255, "ipTtlV6": 64, "keepAliveInterval": 1800, "limitedTransmit": "enabled",
    "linkQosToClient": "0", "maxRetrans": 8, "maxSegmentSize": 1460, "md5Signature": "disabled",
    "minimumRto": 1000, "mptcp": "disabled", "nagle": "disabled", "pktLossIgnoreBurst": 0,
    "pktLossIgnoreRate": 0, "proxyBufferHigh": 262144, "proxyBufferLow": 196608, "proxyMss": "enabled",
    "proxyOptions": "disabled", "pushFlag": "default", "ratePace": "enabled", "ratePaceMaxRate": 0,
    "receiveWindowSize": 131072, "resetOnTimeout": "enabled", "rexmtThresh": 3, "selectiveAcks": "enabled",
    "selectiveNack": "disabled", "sendBufferSize": 262144, "slowStart": "enabled", "synCookieEnable": "enabled",
    "synCookieWhitelist": "disabled", "synMaxRetrans": 3, "synRtoBase": 3000, "tailLossProbe": "enabled",
    "tcpOptions": "none", "timeWaitRecycle": "enabled", "timeWaitTimeout": "2000", "timestamps": "enabled",
    "verifiedAccept": "disabled", "zeroWindowTimeout": 20000,
}  # fmt: skip
_FASTL4 = {
    "clientTimeout": 30, "explicitFlowMigration": "disabled", "hardwareSynCookie": "enabled", "idleTimeout": "300",
    "ipDfMode": "preserve", "ipTosToClient": "pass-through", "ipTosToServer": "pass-through",
    "ipTtlMode": "decrement", "ipTtlV4": 255, "ipTtlV6": 64, "keepAliveInterval": "disabled", "lateBinding":
    "disabled", "linkQosToClient": "pass-through", "linkQosToServer": "pass-through", "looseClose": "disabled",
    "looseInitialization": "disabled", "mssOverride": 0, "priorityToClient": "pass-through", "priorityToServer":
    "pass-through", "pvaAcceleration": "full", "pvaDynamicClientPackets": 1, "pvaDynamicServerPackets": 0,
    "pvaFlowAging": "enabled", "pvaFlowEvict": "enabled", "pvaOffloadDynamic": "enabled", "pvaOffloadState":
    "embryonic", "reassembleFragments": "disabled", "receiveWindowSize": 0, "resetOnTimeout": "enabled",
    "rttFromClient": "disabled", "rttFromServer": "disabled", "serverSack": "disabled", "serverTimestamp":
    "disabled", "softwareSynCookie": "disabled", "synCookieEnable": "enabled", "synCookieMss": 0,
    "synCookieWhitelist": "disabled", "tcpCloseTimeout": "5", "tcpGenerateIsn": "disabled",
    "tcpHandshakeTimeout": "5", "tcpStripSack": "disabled", "tcpTimeWaitTimeout": 0, "tcpTimestampMode":
    "preserve", "tcpWscaleMode": "preserve", "timeoutRecovery": "disconnect",
}  # fmt: skip
# client-ssl and server-ssl: the fields of 16.x, from the unit tests of F5Networks/terraform-provider-bigip
_SSL = {
    "alertTimeout": "indefinite", "allowExpiredCrl": "disabled", "authenticate": "once", "authenticateDepth": 9,
    "bypassOnClientCertFail": "disabled", "bypassOnHandshakeAlert": "disabled", "caFile": "none",
    "cacheSize": 262144, "cacheTimeout": 3600, "chain": "none", "cipherGroup": "none", "ciphers": "DEFAULT",
    "crl": "none", "crlFile": "none", "data_0rtt": "disabled", "genericAlert": "enabled", "handshakeTimeout": "10",
    "logPublisher": "/Common/sys-ssl-publisher", "maxActiveHandshakes": "indefinite", "modSslMethods": "disabled",
    "mode": "enabled", "passphrase": "none", "peerCertMode": "ignore", "proxySsl": "disabled",
    "proxySslPassthrough": "disabled", "renegotiatePeriod": "indefinite", "renegotiateSize": "indefinite",
    "renegotiation": "enabled", "retainCertificate": "true", "serverName": "none", "sessionMirroring": "disabled",
    "sessionTicket": "disabled", "sniDefault": "false", "sniRequire": "false", "sslC3d": "disabled",
    "sslForwardProxy": "disabled", "sslForwardProxyBypass": "disabled", "sslForwardProxyVerifiedHandshake":
    "disabled", "sslSignHash": "any", "strictResume": "disabled", "tmOptions":
    "{ dont-insert-empty-fragments no-tlsv1.3 no-dtlsv1.2 }", "uncleanShutdown": "enabled",
}  # fmt: skip
_CHAIN = {"name": "default", "appService": "none", "cert": "/Common/default.crt", "chain": "none",
          "key": "/Common/default.key", "usage": "SERVER"}  # fmt: skip
_CLIENT_SSL = {
    **_SSL, "allowDynamicRecordSizing": "disabled", "allowNonSsl": "disabled", "c3dClientFallbackCert": "none",
    "c3dDropUnknownOcspStatus": "drop", "c3dOcsp": "none", "cert": "/Common/default.crt", "certKeyChain": [_CHAIN],
    "certExtensionIncludes": ["basic-constraints", "subject-alternative-name"], "certLifespan": 30,
    "certLookupByIpaddrPort": "disabled", "clientCertCa": "none", "destinationIpBlacklist": "none",
    "destinationIpWhitelist": "none", "forwardProxyBypassDefaultAction": "intercept", "helloExtensionIncludes": [],
    "hostnameBlacklist": "none", "hostnameWhitelist": "none", "inheritCaCertkeychain": "true",
    "inheritCertkeychain": "true", "key": "/Common/default.key", "maxAggregateRenegotiationPerMinute": "indefinite",
    "maxRenegotiationsPerMinute": 5, "maximumRecordSize": 16384, "notifyCertStatusToVirtualServer": "disabled",
    "ocspStapling": "disabled", "peerNoRenegotiateTimeout": "10", "proxyCaCert": "none", "proxyCaKey": "none",
    "renegotiateMaxRecordDelay": "indefinite", "secureRenegotiation": "require", "sessionTicketTimeout": 0,
    "sourceIpBlacklist": "none", "sourceIpWhitelist": "none",
}  # fmt: skip
_SERVER_SSL = {
    **_SSL, "authenticateName": "none", "c3dCaCert": "none", "c3dCaKey": "none", "c3dCertExtensionCustomOids": [],
    "c3dCertExtensionIncludes": ["basic-constraints", "extended-key-usage", "key-usage", "subject-alternative-name"],
    "c3dCertLifespan": 24, "cert": "none", "expireCertResponseControl": "drop", "key": "none", "ocsp": "none",
    "revokedCertStatusResponseControl": "drop", "secureRenegotiation": "require-strict",
    "unknownCertStatusResponseControl": "ignore", "untrustedCertResponseControl": "drop",
}  # fmt: skip
_ON_OFF = names("enabled disabled")
_TRUE_FALSE = names("true false")
_SSL_CHOICES = {
    "authenticate": names("once always"), "mode": _ON_OFF, "peerCertMode": names("ignore require request auto"),
    "renegotiation": _ON_OFF, "retainCertificate": _TRUE_FALSE, "sessionTicket": _ON_OFF, "sniDefault": _TRUE_FALSE,
    "sniRequire": _TRUE_FALSE, "ocspStapling": _ON_OFF, "allowExpiredCrl": _ON_OFF, "allowNonSsl": _ON_OFF,
    "secureRenegotiation": names("request require require-strict"),
    "untrustedCertResponseControl": names("drop ignore mask"),
    "expireCertResponseControl": names("drop ignore mask"),
}  # fmt: skip
_COMPRESSION = {
    "allowHttp_10": "disabled", "browserWorkarounds": "disabled", "bufferSize": 4096, "contentTypeExclude": [],
    "contentTypeInclude": ["text/", "application/(xml|x-javascript)"], "cpuSaver": "enabled", "cpuSaverHigh": 90,
    "cpuSaverLow": 75, "gzipLevel": 1, "gzipMemoryLevel": 8192, "gzipWindowSize": 16384, "keepAcceptEncoding":
    "disabled", "methodPrefer": "gzip", "minSize": 1024, "selective": "disabled", "uriExclude": [],
    "uriInclude": [".*"], "varyHeader": "enabled",
}  # fmt: skip
_ACCELERATION = {
    "applications": [], "cacheAgingRate": 9, "cacheClientCacheControlMode": "all", "cacheInsertAgeHeader":
    "enabled", "cacheMaxAge": 3600, "cacheMaxEntries": 10000, "cacheObjectMaxSize": 50000,
    "cacheObjectMinSize": 500, "cacheSize": 100, "cacheUriExclude": [], "cacheUriInclude": [".*"],
    "cacheUriIncludeOverride": [], "cacheUriPinned": [], "metadataCacheMaxSize": 25,
}  # fmt: skip
_HTTP2 = {
    "activationModes": ["alpn"], "concurrentStreamsPerConnection": 10, "connectionIdleTimeout": 300,
    "enforceTlsRequirements": "enabled", "frameSize": 2048, "headerTableSize": 4096, "includeContentLength":
    "disabled", "insertHeader": "disabled", "insertHeaderName": "X-HTTP2", "receiveWindow": 32, "writeSize": 16384,
}  # fmt: skip
_ONE_CONNECT = {
    "idleTimeoutOverride": "disabled", "limitType": "none", "maxAge": 86400, "maxReuse": 1000, "maxSize": 10000,
    "sharePools": "disabled", "sourceMask": "any",
}  # fmt: skip
_UDP = {
    "allowNoPayload": "disabled", "bufferMaxBytes": 655350, "bufferMaxPackets": 0, "datagramLoadBalancing":
    "disabled", "idleTimeout": "60", "ipDfMode": "pmtu", "ipTosToClient": "0", "ipTtlMode": "proxy",
    "ipTtlV4": 255, "ipTtlV6": 64, "linkQosToClient": "0", "noChecksum": "disabled", "proxyMss": "disabled",
    "sendBufferSize": 655350,
}  # fmt: skip
# recorded from 14.1.2.1 in CiscoTestAutomation/genieparser
_SCTP = {
    "appService": "none", "clientSideMultihoming": "disabled", "cookieExpiration": 60, "description": "none",
    "heartbeatInterval": 30, "heartbeatMaxBurst": 1, "idleTimeout": 300, "inStreams": 2, "initMaxRetries": 8,
    "ipTos": "0", "linkQos": "0", "maxBurst": 4, "maxCommunicationPaths": 16, "maxPathRetransmitLimit": 5,
    "outStreams": 2, "proxyBufferHigh": 16384, "proxyBufferLow": 4096, "receiveChunks": 256,
    "receiveOrdered": "enabled", "receiveWindowSize": 65535, "resetOnTimeout": "enabled", "rtoInitial": 3000,
    "rtoMax": 60000, "rtoMin": 1000, "sackTimeout": 200, "secret": "$M$jx$0+ART/wNjLBxkv97jRtGNA==",
    "sendBufferSize": 65536, "sendMaxRetries": 10, "sendPartial": "disabled", "serverSideMultihoming": "disabled",
    "tcpShutdown": "disabled", "transmitChunks": 256,
}  # fmt: skip
_FASTHTTP = {
    "clientCloseTimeout": 5, "connpoolIdleTimeoutOverride": 0, "connpoolMaxReuse": 0, "connpoolMaxSize": 2048,
    "connpoolMinSize": 0, "connpoolReplenish": "enabled", "connpoolStep": 4, "forceHttp_10Response": "disabled",
    "hardwareSynCookie": "enabled", "headerInsert": "none", "http_11CloseWorkarounds": "disabled", "idleTimeout": 300,
    "insertXforwardedFor": "disabled", "layer_7": "enabled", "maxHeaderSize": 32768, "maxRequests": 0,
    "mssOverride": 0, "receiveWindowSize": 0, "resetOnTimeout": "enabled", "serverCloseTimeout": 5,
    "serverSack": "disabled", "serverTimestamp": "disabled", "uncleanShutdown": "disabled",
}  # fmt: skip
_SSL_REFS = (
    Ref(name="cert", family="sys/file/ssl-cert"),
    Ref(name="key", family="sys/file/ssl-key"),
    Ref(name="chain", family="sys/file/ssl-cert"),
    Ref(name="caFile", family="sys/file/ssl-cert"),
    Ref(name="clientCertCa", family="sys/file/ssl-cert"),
    Ref(name="crlFile", family="sys/file/ssl-crl"),
    Ref(name="cipherGroup", family="ltm/cipher/group"),
    Ref(name="certKeyChain", family="sys/file/ssl-cert", inner="cert"),
    Ref(name="certKeyChain", family="sys/file/ssl-key", inner="key"),
    Ref(name="certKeyChain", family="sys/file/ssl-cert", inner="chain"),
)


def _profile(
    path: str, root: str, defaults: Mapping[str, Any] | None = None, *, word: str = "profile",
    refs: tuple[Ref, ...] = (), closed: bool = False, rules: BuiltInRules | None = None, optional: str = "",
) -> TypeSpec:  # fmt: skip
    return TypeSpec(
        path=f"ltm/{path}", word=word, family="profile",
        rules=rules or (SslProfileRules() if refs else BuiltInRules()), inherits=True, root=f"/Common/{root}",
        defaults=dict(defaults or {}), refs=refs, open=not closed,
        word_lists=names("tmOptions") if refs else frozenset(),
        optional=frozenset() if refs else names(f"customTag {optional}"),
        choices={name: words for name, words in _SSL_CHOICES.items() if refs and name in (defaults or {})},
    )  # fmt: skip


SPECS = [
    _profile("profile/http", "http", _HTTP, closed=True, rules=HttpProfileRules(), optional="encryptCookieSecret"),
    _profile("profile/tcp", "tcp", _TCP, closed=True),
    _profile("profile/udp", "udp", _UDP, closed=True),
    _profile("profile/fastl4", "fastL4", _FASTL4, closed=True),
    _profile("profile/fasthttp", "fasthttp", _FASTHTTP, closed=True),
    _profile("profile/one-connect", "oneconnect", _ONE_CONNECT, closed=True),
    _profile("profile/client-ssl", "clientssl", _CLIENT_SSL, word="ClientSSL Profile", refs=_SSL_REFS, closed=True),
    _profile("profile/server-ssl", "serverssl", _SERVER_SSL, word="ServerSSL Profile", refs=_SSL_REFS, closed=True),
    _profile("profile/http-compression", "httpcompression", _COMPRESSION, closed=True),
    _profile("profile/web-acceleration", "webacceleration", _ACCELERATION, closed=True),
    _profile("profile/http2", "http2", _HTTP2, closed=True),
    _profile("profile/sctp", "sctp", _SCTP, closed=True),
    _profile("profile/ipother", "ipother", {"idleTimeout": "60"}),
]

ROOTS = {spec.root: spec.path for spec in SPECS}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "/Common/tcp-lan-optimized": ("ltm/profile/tcp", {"nagle": "disabled", "slowStart": "disabled"}),
    "/Common/tcp-wan-optimized": ("ltm/profile/tcp", {"nagle": "enabled"}),
    "/Common/tcp-mobile-optimized": ("ltm/profile/tcp", {"congestionControl": "high-speed"}),
    "/Common/f5-tcp-progressive": ("ltm/profile/tcp", {"congestionControl": "bbr", "nagle": "auto"}),
    "/Common/f5-tcp-lan": ("ltm/profile/tcp", {"delayedAcks": "disabled"}),
    "/Common/f5-tcp-wan": ("ltm/profile/tcp", {"nagle": "auto"}),
    "/Common/f5-tcp-mobile": ("ltm/profile/tcp", {"nagle": "auto"}),
    "/Common/tcp-legacy": ("ltm/profile/tcp", {"abc": "disabled"}),
    "/Common/udp_gtm_dns": ("ltm/profile/udp", {"datagramLoadBalancing": "enabled"}),
    "/Common/udp_decrement_ttl": ("ltm/profile/udp", {"ipTtlMode": "decrement"}),
    "/Common/full-acceleration": ("ltm/profile/fastl4", {}),
    "/Common/apm-enduser-if-cache": (
        "ltm/profile/web-acceleration",
        {
            "cacheMaxAge": 36000,
            "cacheMaxEntries": 1000,
            "cacheObjectMaxSize": 12000000,
            "cacheObjectMinSize": 5,
            "cacheSize": 50,
        },
    ),
    "/Common/optimized-acceleration": (
        "ltm/profile/web-acceleration",
        {"cacheObjectMaxSize": 67108864, "cacheObjectMinSize": 0, "cacheSize": 6144},
    ),
    "/Common/optimized-caching": (
        "ltm/profile/web-acceleration",
        {"cacheMaxAge": 86400, "cacheObjectMaxSize": 2000000, "cacheObjectMinSize": 0, "cacheSize": 10},
    ),
    "/Common/http-transparent": ("ltm/profile/http", {"proxyType": "transparent"}),
    "/Common/http-explicit": ("ltm/profile/http", {"proxyType": "explicit"}),
    "/Common/clientssl-insecure-compatible": ("ltm/profile/client-ssl", {"secureRenegotiation": "request"}),
    "/Common/clientssl-secure": ("ltm/profile/client-ssl", {"renegotiation": "disabled"}),
    "/Common/serverssl-insecure-compatible": ("ltm/profile/server-ssl", {"secureRenegotiation": "request"}),
    "/Common/apm-default-serverssl": ("ltm/profile/server-ssl", {}),
    "/Common/wan-optimized-compression": ("ltm/profile/http-compression", {"minSize": 16384}),
}
