"""Types of request attributes: bounds and alphabets, enforced by the decoder and shown in the OpenAPI document. Bounds
are those of the Octavia API v2 reference; where it has none, the database's limit or one of this project applies.
"""

from typing import Annotated, Literal, get_args

from msgspec import Meta

from evenkeel.api.responses.decode_errors import REFUSAL
from evenkeel.core.resources.model import AlpnProtocol, TlsVersion

NO_NUL = r"^[^\x00]*$"
"""Pattern without NUL characters, which databases refuse in text."""
END = r"$(?!\n)"
"""Pattern for the end of the text: Python's ``$`` alone would allow a line break after it."""
HTTP_NAME_CHARACTERS = "A-Za-z0-9!#$%&'*+.^_`|~-"
"""Characters of a token of HTTP (RFC 9110) and of a cookie's name (RFC 6265), for use inside brackets of a pattern."""
INT32_MAX = 2_147_483_647
REQUEST_LISTENERS_MAX = 200
REQUEST_POOLS_MAX = 200
REQUEST_MEMBERS_MAX = 1000
TAGS_MAX = 1000
ALLOWED_CIDRS_MAX = 200
ADDITIONAL_VIPS_MAX = 8
SNI_CONTAINERS_MAX = 200
SECURITY_GROUPS_MAX = 32
TIMEOUT_MILLISECONDS_MAX = 2_073_600_000

Text = Annotated[str, Meta(max_length=255, pattern=NO_NUL)]
Tag = Annotated[str, Meta(max_length=255, pattern=NO_NUL)]
Tags = Annotated[list[Tag], Meta(max_length=TAGS_MAX)]
ObjectId = Annotated[str, Meta(min_length=1, max_length=36, pattern=r"^[A-Za-z0-9._-]+" + END)]
ProjectId = Annotated[
    str, Meta(min_length=1, max_length=36, pattern=r"^[A-Za-z0-9._-]*[A-Za-z0-9][A-Za-z0-9._-]*" + END)
]
SecretText = Annotated[str, Meta(extra_json_schema={"description": "a string", "writeOnly": True})]
"""Text that errors never show, nor objects that contain such a text. Limited only by the size of the body."""
ProviderName = Annotated[str, Meta(min_length=1, max_length=64, pattern=NO_NUL)]
Uuid = Annotated[
    str,
    Meta(
        pattern=r"^[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}" + END,
        description="36 characters with dashes",
        extra={REFUSAL: "Value should be UUID format"},
    ),
]
"""Id of another object that this API made. Ids of the network service may have other forms: operators choose the ids of
the built-in network's subnets.
"""
SecurityGroups = Annotated[list[ObjectId], Meta(max_length=SECURITY_GROUPS_MAX)]
Address = Annotated[
    str,
    Meta(
        max_length=45,
        description="An IPv4 or IPv6 address",
        extra={REFUSAL: "Value should be IPv4 or IPv6 format"},
        extra_json_schema={"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
    ),
]
Cidr = Annotated[
    str,
    Meta(
        max_length=49,
        description="An IPv4 or IPv6 network as CIDR",
        extra={REFUSAL: "Value should be IPv4 or IPv6 CIDR format"},
    ),
]
Cidrs = Annotated[list[Cidr], Meta(max_length=ALLOWED_CIDRS_MAX)]
CookieName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        pattern=f"^[{HTTP_NAME_CHARACTERS}]+{END}",
        description="A name of a cookie: letters, digits and !#$%&'*+.^_`|~-",
        extra={REFUSAL: r"Value should match the pattern ^[^\s,;\\]+$"},
    ),
]
Port = Annotated[int, Meta(ge=1, le=65_535)]
Weight = Annotated[int, Meta(ge=0, le=256)]
ConnectionLimit = Annotated[int, Meta(ge=-1, le=INT32_MAX)]
TimeoutMilliseconds = Annotated[int, Meta(ge=0, le=TIMEOUT_MILLISECONDS_MAX)]
PersistenceSeconds = Annotated[int, Meta(ge=0, le=INT32_MAX)]
HstsSeconds = Annotated[int, Meta(ge=0, le=INT32_MAX)]
ContainerRef = Annotated[
    str,
    Meta(
        max_length=255,
        pattern=r"^[\x21-\x7e]*" + END,
        description="A reference to a certificate container: at most 255 visible ASCII characters; empty is none",
    ),
]
_ListedContainerRef = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+" + END,
        description="A reference to a certificate container: 1 to 255 visible ASCII characters",
    ),
]
ContainerRefs = Annotated[list[_ListedContainerRef], Meta(max_length=SNI_CONTAINERS_MAX)]
TlsCiphers = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2048,
        pattern=r"^[A-Za-z0-9_+.@=!-]+(:[A-Za-z0-9_+.@=!-]+)*" + END,
        description="OpenSSL names of ciphers, separated by colons, at most 2048 characters",
    ),
]
TlsVersions = Annotated[list[TlsVersion], Meta(max_length=len(get_args(TlsVersion)))]
AlpnProtocols = Annotated[list[AlpnProtocol], Meta(max_length=len(get_args(AlpnProtocol)))]
MonitorSeconds = Annotated[int, Meta(ge=0, le=INT32_MAX)]
MonitorRetries = Annotated[int, Meta(ge=1, le=10)]
_PATH_CHARACTERS = r"A-Za-z0-9._~!$&'()*+,;=:@/?-"


def _url_path_rule(more_characters: str = "") -> Meta:
    return Meta(
        max_length=1024,
        pattern=rf"^/([{more_characters}{_PATH_CHARACTERS}]|%[0-9A-Fa-f]{{2}})*" + END,
        description="A URL path that begins with a slash",
        extra={REFUSAL: "Value must be a valid URL Path string"},
    )


UrlPath = Annotated[str, _url_path_rule("#")]
"""URL path as Octavia accepts it."""
NeutronUrlPath = Annotated[str, _url_path_rule()]
"""URL path as LBaaS v2 and v1 accept it."""
ExpectedCodes = Annotated[
    str,
    Meta(
        max_length=255,
        pattern=r"^[1-5][0-9]{2}(( *, *[1-5][0-9]{2})*|-[1-5][0-9]{2})" + END,
        description="One HTTP status code (200), a list (200, 202) or a range (200-204)",
        extra={REFUSAL: r"Value should match the pattern ^(\d{3}(\s*,\s*\d{3})*)$|^(\d{3}-\d{3})$"},
    ),
]
HttpMethod = Literal["GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "PATCH"]
HttpVersion = Annotated[float, Meta(ge=1.0, le=1.1, extra_json_schema={"enum": [1.0, 1.1]})]
DomainName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*" + END,
        description="A host name",
    ),
]
