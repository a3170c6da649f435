"""Files that a device stores as they are: external data groups, iFiles, monitor scripts."""

from __future__ import annotations

from icontrol_emulator.config.rules.files import FILE_FACTS, PlainFileRules
from icontrol_emulator.config.schema import TypeSpec, names


def _file(path: str, word: str, **defaults: object) -> TypeSpec:
    return TypeSpec(
        path=f"sys/file/{path}", word=word, rules=PlainFileRules(), defaults={"mode": 33188, **defaults},
        optional=names("content sourcePath systemPath cachePath") | names("separator type"), read_only=FILE_FACTS,
    )  # fmt: skip


SPECS = [
    _file("data-group", "data-group file"),
    _file("external-monitor", "external monitor file"),
    _file("ifile", "iFile file"),
    _file("lwtunneltbl", "lightweight tunnel table file"),
    _file("ssl-csr", "Certificate Signing Request File"),
]
