"""All metrics of the project."""

import runpy
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def script() -> Path:
    """Writes the reference page."""
    return ROOT / "scripts" / "generate_metrics_reference.py"


@cache
def metric_names() -> frozenset[str]:
    """As the reference has them."""
    catalogue = runpy.run_path(str(script()))["catalogue"]()
    return frozenset(line.name for lines in catalogue.values() for line in lines)
