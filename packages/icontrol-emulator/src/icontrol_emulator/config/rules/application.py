"""Application services: a device makes the folder `X.app` for the service X, and keeps it until the last object there
goes, as F5's functional tests and answers in F5's documentation of Terraform's `bigip_sys_iapp` show."""

from __future__ import annotations

from typing import Any

from icontrol_emulator.config.model import Obj
from icontrol_emulator.config.names import split_path
from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.rules.partition import drop_folder_if_empty, ensure_folder
from icontrol_emulator.config.schema import Context


class ApplicationServiceRules(BuiltInRules):
    def name(self, ctx: Context, parent: Obj | None, body: dict[str, Any]) -> None:
        name = str(body.get("name", ""))
        if name.startswith("/"):
            parts = split_path(name)
            body["name"], body["partition"] = parts.name, parts.partition
            body.setdefault("subPath", parts.sub_path or f"{parts.name}.app")
        elif name:
            body.setdefault("subPath", f"{name}.app")

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        ensure_folder(ctx, f"/{draft.partition}/{draft.sub_path}")

    def after_remove(self, ctx: Context, obj: Obj) -> None:
        drop_folder_if_empty(ctx, f"/{obj.partition}/{obj.sub_path}")
