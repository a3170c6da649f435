"""Runs Ansible modules one after the other in this process, each as a playbook's task runs it.

Started with the interpreter of the clients' environment, not with the tests' own: `ansible_modules.py PORT`. Reads a
JSON list of `[module, arguments]` from standard input and writes one of results: `changed`, or `failed` and `msg`.
"""

import contextlib
import io
import json
import runpy
import sys
import traceback
from typing import Any

from ansible.module_utils import basic

COLLECTION = "ansible_collections.f5networks.f5_modules.plugins.modules"


def run(module: str, arguments: dict[str, Any]) -> dict[str, Any]:
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
    printed, errors = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            runpy.run_module(f"{COLLECTION}.{module}", run_name="__main__", alter_sys=False)
    except SystemExit:
        pass
    except Exception:
        return {"failed": True, "msg": traceback.format_exc()[-1500:]}
    lines = printed.getvalue().strip().splitlines()
    return json.loads(lines[-1]) if lines else {"failed": True, "msg": errors.getvalue()[-1500:]}


def main() -> None:
    provider = {
        "server": "127.0.0.1", "server_port": int(sys.argv[1]), "user": "admin", "password": "admin",
        "validate_certs": False, "no_f5_teem": True, "timeout": 60,
    }  # fmt: skip
    tasks = json.load(sys.stdin)
    results = [run(module, {**arguments, "provider": provider}) for module, arguments in tasks]
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
