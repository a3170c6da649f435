"""What Terraform's provider sends for each of its resources, as requests that a test replays.

Paths, methods, names of attributes and forms of values are read from several versions of
https://github.com/F5Networks/terraform-provider-bigip, in bigip/resource_bigip_*.go and
vendor/github.com/f5devcentral/go-bigip/{ltm,net,sys}.go; the values are those of its documentation in docs/resources,
or the test's own. Go's structures leave out what is empty, but ``persist`` of a virtual server, which is ``null``
without a profile, and structures inside, which are ``{}``.

Not here: resources of AS3, DO, FAST, BIG-IQ, ASM, GTM, bot defence, licences, vCMP and ``bigip_sys_iapp`` (needs a
template that F5 ships with devices).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]
_NOT_SHOWN = ("name", "fullPath", "cookieEncryptionPassphrase", "signerKeyPassphrase")
_RULE = "when CLIENT_ACCEPTED {\n  log local0. a\n}"


@dataclass(frozen=True, slots=True)
class Step:
    method: str
    path: str
    body: Body | None = None
    status: int = 200
    raw: bytes | None = None
    shows: Body = field(default_factory=dict)
    """What a read must find."""


def _identity(name: str) -> str:
    return name.replace("/", "~")


def _shown(body: Body) -> Body:
    """What a device shows of a body: no names, no secrets, options of TLS as one text."""
    shown = {key: value for key, value in body.items() if key not in _NOT_SHOWN and value not in ({}, None)}
    if "tmOptions" in shown:
        shown["tmOptions"] = f"{{ {' '.join(shown['tmOptions'])} }}"
    return shown


def lifecycle(
    path: str, created: Body, changed: Body, method: str = "PUT", *, before: tuple[Step, ...] = (),
    shows: Body | None = None, after: tuple[Step, ...] = (),
) -> list[Step]:  # fmt: skip
    """Creation, read, change, read, deletion and a read that finds nothing."""
    item = f"{path}/{_identity(created['name'])}"
    return [
        *before,
        Step("POST", path, created),
        Step("GET", item, shows=_shown(created) if shows is None else {}),
        Step(method, item, changed),
        Step("GET", item, shows=_shown(changed) if shows is None else shows),
        Step("DELETE", item),
        Step("GET", item, status=404),
        *after,
    ]


def _uploaded(name: str, content: bytes) -> Step:
    return Step("POST", f"/mgmt/shared/file-transfer/uploads/{name}", raw=content)


def _delete(path: str, name: str) -> Step:
    return Step("DELETE", f"{path}/{_identity(name)}")


_POOL: Body = {
    "name": "/Common/pool", "allowNat": "yes", "allowSnat": "yes", "loadBalancingMode": "round-robin",
    "monitor": "/Common/http and /Common/tcp", "minActiveMembers": 1, "reselectTries": 0, "slowRampTime": 10,
    "serviceDownAction": "reset", "description": "one",
}  # fmt: skip
_NODE: Body = {
    "name": "/Common/node", "address": "192.168.30.1", "connectionLimit": 10, "dynamicRatio": 1,
    "monitor": "/Common/icmp", "rateLimit": "disabled", "description": "one", "ratio": 91, "fqdn": {},
}  # fmt: skip
_FQDN = {"addressFamily": "ipv4", "autopopulate": "enabled", "downInterval": 5, "interval": "3600", "tmName": "f5.test"}
_VIRTUAL: Body = {
    "name": "/Common/virtual", "destination": "/Common/10.255.255.254:9999", "mask": "255.255.255.255",
    "sourceAddressTranslation": {"type": "automap"}, "translatePort": "enabled", "translateAddress": "enabled",
    "source": "0.0.0.0/0", "ipProtocol": "tcp", "enabled": True, "persist": None,
    "profiles": [{"name": "/Common/tcp", "context": "clientside"}, {"name": "/Common/tcp-lan-optimized", "context":
                                                                   "serverside"}],
}  # fmt: skip
_CHANGED_VIRTUAL: Body = {
    **{key: value for key, value in _VIRTUAL.items() if key != "name"}, "sourceAddressTranslation": {},
    "vlansEnabled": True, "vlans": ["/Common/vlan"], "rules": ["/Common/rule"], "connectionLimit": 7,
    "profiles": [{"name": "/Common/http", "context": "all"}, {"name": "/Common/tcp", "context": "all"}],
    "persist": [{"name": "/Common/source_addr"}], "fallbackPersistence": "/Common/dest_addr",
}  # fmt: skip
_SHOWN_VIRTUAL: Body = {
    "sourceAddressTranslation": {"type": "none"}, "vlansEnabled": True, "vlans": ["/Common/vlan"],
    "rules": ["/Common/rule"], "connectionLimit": 7, "fallbackPersistence": "/Common/dest_addr",
}  # fmt: skip
_POLICY_RULES = {
    "items": [
        {
            "name": "one", "ordinal": 0,
            "conditionsReference": {"items": [{"name": "0", "httpUri": True, "path": True, "startsWith": True,
                                               "request": True, "values": ["/a"]}]},
            "actionsReference": {"items": [{"name": "0", "forward": True, "pool": "/Common/pool", "request": True}]},
        },
        {
            "name": "two", "ordinal": 1, "conditionsReference": {},
            "actionsReference": {"items": [{"name": "0", "httpReply": True, "redirect": True, "location":
                                            "https://site.test", "request": True}]},
        },
    ]
}  # fmt: skip
_POLICY: Body = {
    "name": "Drafts/policy", "publishedCopy": "Drafts/policy", "partition": "Common", "controls": ["forwarding"],
    "requires": ["http"], "strategy": "/Common/first-match", "rulesReference": _POLICY_RULES,
}  # fmt: skip
_PUBLISH = Step("POST", "ltm/policy", {"name": "/Common/Drafts/policy", "command": "publish"})
_READ_POLICY = (
    Step("GET", "ltm/policy/~Common~policy", shows={"strategy": "/Common/first-match", "status": "published"}),
    Step("GET", "ltm/policy/~Common~policy/rules"),
    Step("GET", "ltm/policy/~Common~policy/rules/one/actions"),
    Step("GET", "ltm/policy/~Common~policy/rules/one/conditions"),
)
_SNAT: Body = {
    "name": "/Common/snat", "partition": "Common", "autoLasthop": "default", "mirror": "disabled",
    "sourcePort": "preserve", "translation": "/Common/136.1.1.1", "vlansDisabled": True,
    "origins": [{"name": "2.2.2.2/32"}, {"name": "3.3.3.3/32"}],
}  # fmt: skip


def _profile(kind: str, parent: str, created: Body, changed: Body, method: str = "PATCH") -> list[Step]:
    body = {"name": f"/Common/own-{kind}", "defaultsFrom": f"/Common/{parent}", **created}
    return lifecycle(f"ltm/profile/{kind}", body, {"defaultsFrom": f"/Common/{parent}", **changed}, method)


def _persistence(kind: str, parent: str, created: Body, changed: Body) -> list[Step]:
    body = {"name": f"/Common/own-{kind}", "defaultsFrom": f"/Common/{parent}", **created}
    return lifecycle(f"ltm/persistence/{kind}", body, {"defaultsFrom": f"/Common/{parent}", **changed})


def _settings(path: str, created: Body, changed: Body, method: str) -> list[Step]:
    """Settings are changed at once, and nothing is sent when Terraform removes them."""
    steps: list[Step] = []
    for sent, how in ((created, "PATCH"), (changed, method)):
        steps += [Step(how, path, sent), Step("GET", path, shows=sent)]
    return steps


def file_steps(certificate: bytes, key: bytes) -> dict[str, list[Step]]:
    """Certificates and keys: uploaded, then named as the source of an object; a pair of them in a transaction."""
    source = "file:///var/config/rest/downloads/"
    cert: Body = {"name": "site.crt", "partition": "Common", "sourcePath": f"{source}site.crt"}
    ssl_key: Body = {"name": "site.key", "partition": "Common", "sourcePath": f"{source}site.key"}
    ifile: Body = {"name": "words", "partition": "Common", "sourcePath": f"{source}words"}
    of_cert, of_key = "sys/file/ssl-cert/~Common~site.crt", "sys/file/ssl-key/~Common~site.key"
    return {
        "bigip_ssl_certificate": [
            _uploaded("site.crt", certificate), Step("POST", "sys/file/ssl-cert", cert),
            Step("GET", of_cert, shows={"name": "site.crt", "partition": "Common"}),
            _uploaded("site.crt", certificate), Step("PATCH", f"{of_cert}?expandSubcollections=true", cert),
            Step("DELETE", of_cert), Step("GET", of_cert, status=404),
        ],
        "bigip_ssl_key": [
            _uploaded("site.key", key), Step("POST", "sys/file/ssl-key", ssl_key),
            Step("GET", of_key, shows={"name": "site.key"}),
            _uploaded("site.key", key), Step("PATCH", of_key, ssl_key),
            Step("DELETE", of_key), Step("GET", of_key, status=404),
        ],
        "bigip_ssl_key_cert": [
            _uploaded("site.key", key), Step("POST", "sys/file/ssl-key", ssl_key),
            _uploaded("site.crt", certificate), Step("POST", "sys/file/ssl-cert", cert),
            Step("GET", of_cert), Step("GET", of_key),
            Step("DELETE", of_key), Step("DELETE", of_cert),
        ],
        "bigip_sys_ifile": [
            _uploaded("words", b"one\n"), Step("POST", "sys/file/ifile", ifile),
            Step("GET", "sys/file/ifile/~Common~words", shows={"name": "words"}),
            _uploaded("words", b"two\n"), Step("PUT", "sys/file/ifile/~Common~words", ifile),
            Step("DELETE", "sys/file/ifile/~Common~words"),
        ],
        "bigip_ltm_ifile": [
            _uploaded("words", b"one\n"), Step("POST", "sys/file/ifile", ifile),
            *lifecycle("ltm/ifile", {"name": "/Common/words", "fileName": "/Common/words"},
                       {"fileName": "/Common/words"}),
        ],
    }  # fmt: skip


RESOURCES: dict[str, list[Step]] = {
    "bigip_command": [Step("POST", "util/bash", {"command": "run", "utilCmdArgs": "-c 'tmsh show sys version'"})],
    "bigip_partition": lifecycle(
        "auth/partition", {"name": "tf", "description": "one", "defaultRouteDomain": 0},
        {"description": "two", "defaultRouteDomain": 0}, "PATCH",
    ),
    "bigip_ltm_node": lifecycle(
        "ltm/node", _NODE, {**_NODE, "description": "two", "session": "user-disabled", "ratio": 5}
    ),
    "bigip_ltm_node (fqdn)": lifecycle(
        "ltm/node", {"name": "/Common/named", "fqdn": _FQDN, "monitor": "/Common/icmp", "rateLimit": "disabled"},
        {"description": "two", "fqdn": {"interval": "60"}, "monitor": "/Common/icmp"},
        shows={"description": "two", "monitor": "/Common/icmp"},
    ),
    "bigip_ltm_pool": lifecycle(
        "ltm/pool", _POOL,
        {**_POOL, "loadBalancingMode": "least-connections-member", "monitor": "/Common/tcp", "slowRampTime": 0},
    ),
    "bigip_ltm_pool_attachment": [
        Step("POST", "ltm/pool", _POOL), Step("POST", "ltm/node", _NODE),
        Step("POST", "ltm/pool/~Common~pool/members", {"name": "/Common/node:80"}),
        Step("GET", "ltm/pool/~Common~pool"), Step("GET", "ltm/pool/~Common~pool/members"),
        Step("PUT", "ltm/pool/~Common~pool/members/~Common~node:80",
             {"connectionLimit": 11, "dynamicRatio": 3, "monitor": "default", "priorityGroup": 2, "rateLimit": "5",
              "ratio": 2, "fqdn": {}}),
        Step("GET", "ltm/pool/~Common~pool/members/~Common~node:80",
             shows={"connectionLimit": 11, "priorityGroup": 2, "rateLimit": "5", "ratio": 2}),
        Step("POST", "ltm/pool/~Common~pool/members",
             {"name": "named.test:80", "fqdn": {"tmName": "named.test", "autopopulate": "disabled"}}),
        Step("DELETE", "ltm/pool/~Common~pool/members/~Common~named.test:80"),
        Step("DELETE", "ltm/pool/~Common~pool/members/~Common~node:80"),
        _delete("ltm/pool", "/Common/pool"), _delete("ltm/node", "/Common/node"),
    ],
    "bigip_ltm_monitor": lifecycle(
        "ltm/monitor/http",
        {"name": "/Common/monitor", "defaultsFrom": "/Common/http", "destination": "*:80", "interval": 998,
         "timeout": 999, "send": "GET /some/path\r\n", "recv": "ok", "recvDisable": "down", "timeUntilUp": 0,
         "reverse": "disabled", "transparent": "disabled", "manualResume": "disabled", "ipDscp": 0},
        {"defaultsFrom": "/Common/http", "interval": 9, "timeout": 28, "send": "GET /\r\n", "adaptive": "enabled",
         "adaptiveLimit": 250},
    ),
    "bigip_ltm_irule": lifecycle(
        "ltm/rule", {"name": "/Common/rule", "apiAnonymous": _RULE}, {"name": "/Common/rule", "apiAnonymous":
                                                                      _RULE.replace(" a\n", " b\n")}
    ),
    "bigip_ltm_datagroup": lifecycle(
        "ltm/data-group/internal",
        {"name": "/Common/group", "type": "string", "records": [{"name": "abc.com", "data": "pool1"}, {"name": "x"}]},
        {"name": "/Common/group", "type": "string", "records": [{"name": "def.com", "data": "pool2"}]},
        shows={"type": "string", "records": [{"name": "def.com", "data": "pool2"}]},
    ),
    "bigip_ltm_policy": [
        Step("POST", "ltm/pool", _POOL),
        Step("POST", "ltm/policy", _POLICY), _PUBLISH, *_READ_POLICY,
        Step("PATCH", "ltm/policy/~Common~policy?options=create-draft", {}),
        Step("PUT", "ltm/policy/~Common~Drafts~policy", {**_POLICY, "strategy": "/Common/first-match"}),
        _PUBLISH, *_READ_POLICY,
        Step("DELETE", "ltm/policy/~Common~policy"), Step("GET", "ltm/policy/~Common~policy", status=404),
        _delete("ltm/pool", "/Common/pool"),
    ],
    "bigip_ltm_virtual_address": lifecycle(
        "ltm/virtual-address",
        {"name": "/Common/vs_va", "address": "10.255.255.251", "arp": "enabled", "autoDelete": "true",
         "enabled": "yes", "icmpEcho": "enabled", "trafficGroup": "/Common/traffic-group-1"},
        {"name": "/Common/vs_va", "arp": "disabled", "autoDelete": "false", "enabled": "no", "icmpEcho": "disabled",
         "connectionLimit": 3, "trafficGroup": "/Common/traffic-group-1"},
    ),
    "bigip_ltm_virtual_server": [
        Step("POST", "ltm/rule", {"name": "/Common/rule", "apiAnonymous": _RULE}),
        Step("POST", "net/vlan", {"name": "/Common/vlan", "tag": 101}),
        *lifecycle("ltm/virtual", _VIRTUAL, _CHANGED_VIRTUAL, shows=_SHOWN_VIRTUAL)[:4],
        Step("GET", "ltm/virtual/~Common~virtual/profiles"), Step("GET", "ltm/virtual/~Common~virtual/policies"),
        Step("DELETE", "ltm/virtual/~Common~virtual"), Step("GET", "ltm/virtual/~Common~virtual", status=404),
    ],
    "bigip_ltm_profile_fasthttp": _profile(
        "fasthttp", "fasthttp",
        {"idleTimeout": 40, "connpoolIdleTimeoutOverride": 1, "connpoolMaxReuse": 2, "connpoolMaxSize": 2048,
         "connpoolReplenish": "enabled", "connpoolStep": 4, "forceHttp_10Response": "disabled", "maxHeaderSize": 32768},
        {"idleTimeout": 50},
    ),
    "bigip_ltm_profile_fastl4": _profile(
        "fastl4", "fastL4",
        {"clientTimeout": 40, "explicitFlowMigration": "enabled", "hardwareSynCookie": "enabled", "idleTimeout": "200",
         "ipTosToClient": "pass-through", "ipTosToServer": "pass-through", "keepAliveInterval": "disabled"},
        {"clientTimeout": 30, "idleTimeout": "300"},
    ),
    "bigip_ltm_profile_http2": _profile(
        "http2", "http2",
        {"concurrentStreamsPerConnection": 10, "connectionIdleTimeout": 30, "headerTableSize": 4096,
         "activationModes": ["alpn"], "enforceTlsRequirements": "enabled", "frameSize": 2048, "insertHeader":
         "disabled", "insertHeaderName": "X-HTTP2", "receiveWindow": 32, "writeSize": 16384, "includeContentLength":
         "disabled"},
        {"concurrentStreamsPerConnection": 20, "activationModes": ["alpn"]},
    ),
    "bigip_ltm_profile_httpcompress": lifecycle(
        "ltm/profile/http-compression",
        {"name": "/Common/compress", "defaultsFrom": "/Common/httpcompression", "uriExclude": ["www.abc.test"],
         "uriInclude": ["www.xyz.test"], "contentTypeInclude": ["nicecontent"], "contentTypeExclude": ["bad"]},
        {"uriExclude": ["f5.test"], "uriInclude": ["cisco.test"], "gzipLevel": 1, "varyHeader": "enabled"}, "PATCH",
    ),
    "bigip_ltm_profile_oneconnect": _profile(
        "one-connect", "oneconnect",
        {"idleTimeoutOverride": "disabled", "limitType": "none", "maxAge": 3600, "maxReuse": 1000, "maxSize": 1000,
         "sharePools": "disabled", "sourceMask": "255.255.255.255"}, {"maxAge": 3601, "maxReuse": 1001},
    ),
    "bigip_ltm_profile_tcp": _profile(
        "tcp", "tcp",
        {"idleTimeout": 200, "closeWaitTimeout": 5, "finWait_2Timeout": 5, "finWaitTimeout": 300,
         "keepAliveInterval": 1700, "deferredAccept": "enabled", "fastOpen": "enabled", "congestionControl":
         "high-speed", "initCwnd": 10, "delayedAcks": "enabled", "nagle": "disabled", "earlyRetransmit": "enabled",
         "tailLossProbe": "enabled", "timeWaitRecycle": "enabled", "verifiedAccept": "disabled", "receiveWindowSize":
         65535, "sendBufferSize": 131072, "proxyBufferHigh": 65535, "zeroWindowTimeout": 20000},
        {"idleTimeout": 220, "finWaitTimeout": 10},
    ),
    "bigip_ltm_profile_ftp": _profile(
        "ftp", "ftp",
        {"allowFtps": "disabled", "ftpsMode": "disallow", "inheritParentProfile": "disabled", "port": 2020,
         "security": "disabled", "translateExtended": "enabled", "inheritVlanList": "disabled",
         "enforceTlsSessionReuse": "disabled", "allowActiveMode": "enabled"},
        {"port": 2021},
    ),
    "bigip_ltm_profile_http": _profile(
        "http", "http",
        {"acceptXff": "disabled", "basicAuthRealm": "titanic", "description": "one", "encryptCookies": ["peanut"],
         "fallbackHost": "titanic", "fallbackStatusCodes": ["400", "500", "300"], "headerErase": "titanic",
         "headerInsert": "X-A: b", "insertXforwardedFor": "enabled", "lwsWidth": 80, "oneconnectTransformations":
         "enabled", "redirectRewrite": "none", "requestChunking": "sustain", "responseChunking": "sustain",
         "serverAgentName": "myBIG-IP", "viaRequest": "preserve", "viaResponse": "preserve", "hsts": {"mode":
         "enabled", "includeSubdomains": "disabled", "maximumAge": 80, "preload": "disabled"}, "enforcement":
         {"knownMethods": ["GET", "POST"], "maxHeaderCount": 40, "maxHeaderSize": 80, "unknownMethod": "reject"}},
        {"description": "two", "fallbackHost": "xyz"},
    ),
    "bigip_ltm_profile_web_acceleration": _profile(
        "web-acceleration", "webacceleration",
        {"cacheMaxEntries": 201, "cacheSize": 101, "cacheObjectMaxSize": 50001, "cacheObjectMinSize": 501,
         "cacheMaxAge": 3601, "cacheAgingRate": 9, "cacheInsertAgeHeader": "enabled", "cacheClientCacheControlMode":
         "all"},
        {"cacheSize": 102},
    ),
    "bigip_ltm_profile_server_ssl": _profile(
        "server-ssl", "serverssl",
        {"partition": "Common", "authenticate": "always", "ciphers": "DEFAULT", "authenticateDepth": 9, "cert": "none",
         "key": "none", "serverName": "site.test", "tmOptions": ["dont-insert-empty-fragments", "no-tlsv1.3"],
         "peerCertMode": "ignore", "renegotiation": "enabled", "secureRenegotiation": "require-strict", "sniDefault":
         "false", "sniRequire": "false", "untrustedCertResponseControl": "drop", "expireCertResponseControl": "drop"},
        {"authenticate": "once", "serverName": "other.test"},
    ),
    "bigip_ltm_profile_client_ssl": _profile(
        "client-ssl", "clientssl",
        {"partition": "Common", "authenticate": "always", "ciphers": "DEFAULT", "authenticateDepth": 9,
         "cert": "/Common/default.crt", "key": "/Common/default.key", "tmOptions": ["dont-insert-empty-fragments",
         "no-tlsv1.3"], "peerCertMode": "ignore", "renegotiation": "disabled", "allowNonSsl": "disabled",
         "cacheSize": 262144, "cacheTimeout": 3600, "sslForwardProxy": "disabled", "sniDefault": "false", "mode":
         "enabled", "retainCertificate": "true", "strictResume": "disabled", "uncleanShutdown": "enabled"},
        {"authenticate": "once", "ciphers": "ECDHE"},
    ),
    "bigip_ltm_persistence_profile_srcaddr": _persistence(
        "source-addr", "source_addr",
        {"matchAcrossPools": "enabled", "matchAcrossServices": "enabled", "matchAcrossVirtuals": "enabled",
         "mirror": "enabled", "timeout": "3600", "overrideConnectionLimit": "enabled", "hashAlgorithm": "carp",
         "mapProxies": "enabled", "mask": "255.255.255.255"}, {"timeout": "180", "mask": "255.255.255.0"},
    ),
    "bigip_ltm_persistence_profile_dstaddr": _persistence(
        "dest-addr", "dest_addr",
        {"matchAcrossPools": "enabled", "mirror": "enabled", "timeout": "3600", "hashAlgorithm": "carp",
         "mask": "255.255.255.255"}, {"timeout": "180"},
    ),
    "bigip_ltm_persistence_profile_ssl": _persistence(
        "ssl", "ssl", {"matchAcrossPools": "enabled", "mirror": "enabled", "timeout": "3600"}, {"timeout": "180"}
    ),
    "bigip_ltm_persistence_profile_cookie": _persistence(
        "cookie", "cookie",
        {"matchAcrossPools": "enabled", "mirror": "enabled", "timeout": "3600", "overrideConnectionLimit": "enabled",
         "alwaysSend": "enabled", "cookieEncryption": "required", "cookieEncryptionPassphrase": "iam", "cookieName":
         "ham", "expiration": "1:0:0", "hashLength": 0, "hashOffset": 0, "httponly": "enabled", "method": "insert"},
        {"cookieName": "eggs", "secure": "disabled"},
    ),
    "bigip_ltm_snat": lifecycle(
        "ltm/snat", _SNAT, {**_SNAT, "translation": "/Common/136.1.1.2", "sourcePort": "change"},
        shows={"translation": "/Common/136.1.1.2", "sourcePort": "change", "vlansDisabled": True},
    ),
    "bigip_ltm_snatpool": lifecycle(
        "ltm/snatpool", {"name": "/Common/snatpool", "members": ["191.1.1.1", "194.2.2.2"]},
        {"name": "/Common/snatpool", "members": ["191.1.1.3"]}, shows={"members": ["/Common/191.1.1.3"]},
    ),
    "bigip_ltm_cipher_rule": lifecycle(
        "ltm/cipher/rule",
        {"name": "/Common/test_cipher_rule", "cipher": "TLS13-AES128-GCM-SHA256:TLS13-AES256-GCM-SHA384",
         "dhGroups": "P256:P384:FFDHE2048:FFDHE3072:FFDHE4096", "signatureAlgorithms": "DEFAULT"},
        {"cipher": "TLS13-AES128-GCM-SHA256"}, "PATCH",
    ),
    "bigip_ltm_cipher_group": lifecycle(
        "ltm/cipher/group",
        {"name": "/Common/group", "allow": [{"name": "/Common/f5-aes"}], "require": [{"name": "/Common/f5-secure"}],
         "ordering": "speed"},
        {"ordering": "strength"}, "PATCH", shows={"ordering": "strength"},
    ),
    "bigip_ltm_request_log_profile": _profile(
        "request-log", "request-log",
        {"requestLogging": "enabled", "requestLogProtocol": "mds-tcp", "requestLogErrorProtocol": "mds-tcp",
         "responseLogging": "disabled", "proxyResponse": "none", "logRequestLoggingErrors": "enabled"},
        {"requestLogging": "disabled"},
    ),
    "bigip_ltm_profile_rewrite": lifecycle(
        "ltm/profile/rewrite",
        {"name": "/Common/own-rewrite", "defaultsFrom": "/Common/rewrite", "bypassList": ["http://notouch.test"],
         "rewriteList": ["http://some.test"], "rewriteMode": "portal", "clientCachingType": "cache-img-css-js",
         "splitTunneling": "false"},
        {"clientCachingType": "no-cache"}, "PATCH",
    ),
    "bigip_net_vlan": [
        Step("POST", "net/vlan", {"name": "/Common/vlan", "tag": 101, "mtu": 1500, "cmpHash": "default"}),
        Step("POST", "net/vlan/~Common~vlan/interfaces", {"name": "1.2", "tagged": True}),
        Step("GET", "net/vlan/~Common~vlan", shows={"tag": 101, "mtu": 1500}),
        Step("GET", "net/vlan/~Common~vlan/interfaces"),
        Step("PUT", "net/vlan/~Common~vlan", {"name": "/Common/vlan", "tag": 102, "cmpHash": "src-ip"}),
        Step("GET", "net/vlan/~Common~vlan", shows={"tag": 102, "cmpHash": "src-ip"}),
        Step("DELETE", "net/vlan/~Common~vlan"), Step("GET", "net/vlan/~Common~vlan", status=404),
    ],
    "bigip_net_selfip": lifecycle(
        "net/self",
        {"name": "/Common/self", "address": "11.1.1.1/24", "vlan": "/Common/vlan", "trafficGroup":
         "traffic-group-local-only", "allowService": ["tcp:53", "udp:53"]},
        {"name": "/Common/self", "address": "11.1.1.1/24", "vlan": "/Common/vlan", "trafficGroup":
         "/Common/traffic-group-local-only", "allowService": "all"},
        before=(Step("POST", "net/vlan", {"name": "/Common/vlan", "tag": 101}),),
        shows={"address": "11.1.1.1/24", "vlan": "/Common/vlan", "allowService": "all"},
    ),
    "bigip_net_route": lifecycle(
        "net/route", {"name": "/Common/route", "network": "10.10.10.0/24", "gw": "1.1.1.2"},
        {"name": "/Common/route", "network": "10.10.10.0/24", "gw": "1.1.1.3"},
        before=(Step("POST", "net/vlan", {"name": "/Common/vlan", "tag": 101}),
                Step("POST", "net/self", {"name": "/Common/self", "address": "1.1.1.1/24", "vlan": "/Common/vlan"})),
    ),
    "bigip_net_tunnel": lifecycle(
        "net/tunnels/tunnel",
        {"name": "/Common/tunnel", "autoLasthop": "default", "idleTimeout": 300, "localAddress": "192.16.81.240",
         "mode": "bidirectional", "profile": "/Common/dslite", "remoteAddress": "any6", "secondaryAddress": "any6",
         "tos": "preserve", "transparent": "disabled", "usePmtu": "enabled"},
        {"name": "/Common/tunnel", "localAddress": "192.16.81.240", "profile": "/Common/dslite", "description": "two"},
        shows={"description": "two", "localAddress": "192.16.81.240"},
    ),
    "bigip_net_ike_peer": lifecycle(
        "net/ipsec/ike-peer",
        {"name": "/Common/peer", "remoteAddress": "1.5.3.4", "dpdDelay": 30, "lifetime": 1440, "generatePolicy": "off",
         "mode": "main", "natTraversal": "off", "passive": "false", "phase1AuthMethod": "rsa-signature",
         "phase1EncryptAlgorithm": "3des", "phase1HashAlgorithm": "sha256", "phase1PerfectForwardSecrecy": "modp1024",
         "prf": "sha256", "proxySupport": "enabled", "replayWindowSize": 64, "state": "enabled", "verifyCert": "false",
         "version": ["v1"]},
        {"dpdDelay": 20, "lifetime": 1000}, "PATCH",
    ),
    "bigip_ipsec_policy": lifecycle(
        "net/ipsec/ipsec-policy",
        {"name": "/Common/policy", "protocol": "esp", "mode": "tunnel", "tunnelLocalAddress": "192.168.1.1",
         "tunnelRemoteAddress": "10.10.1.1", "ikePhase2AuthAlgorithm": "sha1", "ikePhase2EncryptAlgorithm": "aes128",
         "ikePhase2Lifetime": 60, "ikePhase2LifetimeKilobytes": 110, "ikePhase2PerfectForwardSecrecy": "modp1024",
         "ipcomp": "deflate"},
        {"ikePhase2Lifetime": 70}, "PATCH",
    ),
    "bigip_traffic_selector": lifecycle(
        "net/ipsec/traffic-selector",
        {"name": "/Common/selector", "destinationAddress": "3.10.11.2/32", "sourceAddress": "2.10.11.12/32",
         "ipsecPolicy": "/Common/policy", "ipsecPolicyReference": {}},
        {"description": "two", "ipsecPolicyReference": {}}, "PATCH",
        before=(Step("POST", "net/ipsec/ipsec-policy",
                     {"name": "/Common/policy", "protocol": "esp", "mode": "tunnel", "tunnelLocalAddress":
                      "192.168.1.1", "tunnelRemoteAddress": "10.10.1.1"}),),
    ),
    "bigip_sys_dns": _settings(
        "sys/dns", {"description": "/Common/DNS1", "nameServers": ["1.1.1.1"], "search": ["f5.test"]},
        {"nameServers": ["1.1.1.1", "2.2.2.2"], "search": ["f5.test"]}, "PATCH",
    ),
    "bigip_sys_ntp": _settings(
        "sys/ntp", {"description": "/Common/NTP1", "servers": ["time.test"], "timezone": "America/Los_Angeles"},
        {"servers": ["other.test"], "timezone": "UTC"}, "PATCH",
    ),
    "bigip_sys_snmp": _settings(
        "sys/snmp", {"sysContact": "NetOps <ops@site.test>", "sysLocation": "SeattleHQ",
                     "allowedAddresses": ["202.10.10.2"]},
        {"sysContact": "Ops", "sysLocation": "Here", "allowedAddresses": ["202.10.10.3"]}, "PUT",
    ),
    "bigip_sys_snmp_traps": lifecycle(
        "sys/snmp/traps",
        {"name": "snmptraps", "community": "f5community", "host": "195.10.10.1", "description": "one", "port": 111},
        {"description": "two"}, "PATCH",
    ),
    "bigip_sys_ocsp": lifecycle(
        "sys/crypto/cert-validator/ocsp",
        {"name": "/Common/test-ocsp", "proxyServerPool": "/Common/pool", "signerKey": "/Common/default.key",
         "signerCert": "/Common/default.crt", "signerKeyPassphrase": "testabcdef"},
        {"timeout": 9}, "PATCH", before=(Step("POST", "ltm/pool", _POOL),),
    ),
    "bigip_sys_provision": [
        Step("PUT", "sys/provision/asm", {"name": "asm", "level": "nominal"}),
        Step("GET", "sys/provision/asm", shows={"level": "nominal"}),
        Step("PUT", "sys/provision/asm", {"name": "asm", "level": "none"}),
    ],
}  # fmt: skip
