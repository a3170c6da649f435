"""Runs Helm's own library and Kubernetes' schemas, in an environment of their own: questions as JSON on standard input,
answers on standard output. helm-python-sdk holds Helm 4's Go library, so what it renders is what ``helm`` renders.

A question: ``{"chart": path, "values": {…}, "set": "a=1,b=2"}``; its answer: ``{"refused": text}``, or ``{"lint": […],
"objects": […], "notes": text}`` with every template rendered. ``{"objects": […], "version": "1.33.0"}`` is answered by
``{"wrong": […]}``, what is not valid in Kubernetes' schema.
"""

import json
import sys
from typing import Any

import helm_python as helm  # type: ignore[import-not-found]
import kubernetes_validate  # type: ignore[import-not-found]
import yaml

KUBERNETES = "v1.33.0"


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = {key: merged(one[key], other[key]) for key in one.keys() & other.keys() if isinstance(other[key], dict)}
    return {**one, **other, **both}


def rendered(question: dict[str, Any]) -> dict[str, Any]:
    chart = question["chart"]
    try:
        values = merged(question["values"], helm.parse_set_string(question.get("set", "")))
        with helm.Chart.load(chart) as loaded:
            loaded.validate_schema(values)
            files = loaded.render(values, name=question.get("release", "evenkeel"), namespace="evenkeel")
    except helm.HelmError as error:
        return {"refused": str(error)}
    lint = helm.lint(chart, values, strict=True, kube_version=KUBERNETES)
    documents = [text for name, text in files.items() if name.endswith(".yaml")]
    return {
        "lint": [*lint["errors"], *(each["error"] for each in lint["messages"] if each["severity"] != 1)],
        "objects": [each for text in documents for each in yaml.safe_load_all(text) if each],
        "notes": next(text for name, text in files.items() if name.endswith("NOTES.txt")),
    }


def validated(question: dict[str, Any]) -> dict[str, Any]:
    wrong = []
    for each in question["objects"]:
        try:
            kubernetes_validate.validate(each, question["version"], strict=True)
        except kubernetes_validate.ValidationError as error:
            where = ".".join(map(str, error.path))
            wrong.append(f"{each['kind']} {each['metadata']['name']}: {where}: {error.message}")
    return {"wrong": wrong}


if __name__ == "__main__":
    questions = json.load(sys.stdin)
    json.dump([rendered(each) if "chart" in each else validated(each) for each in questions], sys.stdout)
