"""The kustomization's objects, as ``kubectl kustomize`` makes them where it is installed."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

KUBERNETES = Path(__file__).parents[2] / "packaging" / "kubernetes"


def kustomized() -> list[dict[str, Any]]:
    """All of it; without kubectl what its files hold, without the secrets."""
    if kubectl := shutil.which("kubectl"):
        done = subprocess.run([kubectl, "kustomize", str(KUBERNETES)], capture_output=True, text=True, check=True)
        return list(yaml.safe_load_all(done.stdout))
    made = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    return [each for name in made["resources"] for each in yaml.safe_load_all((KUBERNETES / name).read_text())]
