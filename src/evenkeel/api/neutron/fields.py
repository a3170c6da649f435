"""Types of attributes in Neutron's style: the same bounds as Octavia's, but numbers and booleans may be text."""

from typing import Annotated

from msgspec import Meta

from evenkeel.api.http.fields import END, INT32_MAX, NO_NUL, SNI_CONTAINERS_MAX
from evenkeel.core.resources.quota import MAX_QUOTA

_NUMBER = {"type": ["integer", "string"]}

Flag = Annotated[bool, Meta(extra_json_schema={"type": ["boolean", "string", "integer"]})]
Port = Annotated[int, Meta(ge=1, le=65_535, extra_json_schema=_NUMBER)]
Weight = Annotated[int, Meta(ge=0, le=256, extra_json_schema=_NUMBER)]
ConnectionLimit = Annotated[int, Meta(ge=-1, le=INT32_MAX, extra_json_schema=_NUMBER)]
Seconds = Annotated[int, Meta(ge=0, le=INT32_MAX, extra_json_schema=_NUMBER)]
Retries = Annotated[int, Meta(ge=1, le=10, extra_json_schema=_NUMBER)]
Position = Annotated[int, Meta(ge=1, le=INT32_MAX, extra_json_schema=_NUMBER)]
QuotaLimit = Annotated[int, Meta(ge=-1, le=MAX_QUOTA, extra_json_schema=_NUMBER)]
UUID_PATTERN = r"^[0-9A-Fa-f]{8}-?([0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12}" + END
Uuid = Annotated[str, Meta(pattern=UUID_PATTERN)]
"""Id of an object that a body names. Ids in paths may be any text: an unknown id is not found."""
FlavorId = Annotated[str, Meta(max_length=255, pattern=NO_NUL)]
Provider = Annotated[str, Meta(max_length=255, pattern=NO_NUL)]
"""Name of a provider: any text, like in Neutron; whether the provider exists is checked later."""
ContainerRef = Annotated[str, Meta(max_length=255, pattern=NO_NUL)]
"""Reference to a key manager; an empty one means none."""
ContainerRefs = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_NUL)]], Meta(max_length=SNI_CONTAINERS_MAX)
]
