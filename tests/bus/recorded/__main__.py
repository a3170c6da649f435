"""``python -m tests.bus.recorded``: record the messages of this version.

Done for 0.1.0. Not done again, but for another ``MESSAGE_VERSION``: a recording that follows the code proves nothing.
"""

import json
from pathlib import Path
from typing import Any

from evenkeel.bus.codec import encode
from tests.bus.recorded.filled import filled, plain
from tests.bus.recorded.types import message_types, structs

FOLDER = Path(__file__).parent


def recording() -> dict[str, Any]:
    """An envelope of every type with all fields, and one with the required fields only."""
    found: dict[str, Any] = {}
    for tag, kind in sorted(message_types().items()):
        for name, body in ((tag, filled(kind)), (f"{tag}-plain", plain(kind))):
            found[name] = json.loads(encode(body, message_id=f"recorded-{name}", reply_to="reply"))
    return found


def write(name: str, content: Any) -> None:
    (FOLDER / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write("messages.json", recording())
    write("types.json", structs())
