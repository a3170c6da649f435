"""The Helm chart: linted and rendered by Helm's own library, checked against Kubernetes' schemas, and compared with the
kustomization. No cluster runs it.
"""

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenkeel import __version__
from tests.packaging.kustomized import kustomized
from tests.services.installation import NotInstallable, environment

ROOT = Path(__file__).parents[2]
CHART = ROOT / "packaging" / "helm" / "evenkeel"
PAGE = ROOT / "docs" / "how-to" / "install-with-helm.md"
SECONDS = 120
KUBERNETES = ("1.33.0", "1.35.0", "1.37.0")
REQUIREMENTS = ("helm-python-sdk==0.2.2", "kubernetes-validate==1.37.0", "PyYAML==6.0.3")
OPTIONS = {"--namespace", "--create-namespace", "--reset-then-reuse-values", "--wait", "--set", "--set-file"}
CONTROLLER, AGENT = "[DEFAULT]\nenvironments = prod:noop\n", "[DEFAULT]\nenvironment_prefix = prod\n"

Values = dict[str, Any]
Answer = dict[str, Any]
Ask = Callable[..., list[Answer]]

PLAIN: Values = {"controller": {"config": CONTROLLER}, "agents": {"agent": {"config": AGENT}}}
SECRETS: Values = {"controller": {"existingSecret": "ours"}, "agents": {"agent": {"existingSecret": "ours-too"}}}
FULL: Values = {
    "image": {"registry": "registry.example.net/lb/", "tag": "0.1.0", "pullSecrets": [{"name": "pull"}]},
    "controller": {
        "config": CONTROLLER,
        "tls": True,
        "replicas": 3,
        "nodeSelector": {"role": "control"},
        "tolerations": [{"key": "control", "operator": "Exists", "effect": "NoSchedule"}],
    },
    "service": {"type": "LoadBalancer", "port": 443, "annotations": {"example.net/pool": "api"}},
    "agents": {"agent": {"config": AGENT}, "lab": {"replicas": 2, "existingSecret": "lab"}},
    "agent": {"image": {"tag": "0.0.9"}},
    "haproxyd": {"enabled": True, "existingSecret": "haproxyd"},
    "migration": {"existingSecret": "db-admin"},
    "networkPolicy": {
        "enabled": True,
        "apiFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}],
        "metricsFrom": [{"podSelector": {"matchLabels": {"app": "prometheus"}}}],
        "egress": [{"ports": [{"port": 5671, "protocol": "TCP"}], "to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}],
    },
    "metrics": {"port": 9465, "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}},
}
DAEMONS: Values = {
    "controller": {"enabled": False},
    "agents": {"agent": None},
    "haproxyd": {"enabled": True, "existingSecret": "haproxyd"},
}
ALL = {"plain": PLAIN, "secrets": SECRETS, "full": FULL, "daemons only": DAEMONS}


@pytest.fixture(scope="module")
def ask() -> Ask:
    try:
        venv = environment("helm-charts", "1", REQUIREMENTS, compiled=False)
    except NotInstallable as error:
        pytest.skip(str(error))

    def answers(*questions: dict[str, Any]) -> list[Answer]:
        done = subprocess.run(
            [venv / "bin" / "python", Path(__file__).with_name("helm_engine.py")],
            input=json.dumps(questions),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout))

    return answers


@pytest.fixture(scope="module")
def charts(ask: Ask) -> dict[str, Answer]:
    """Answers to each of :data:`ALL`."""
    return dict(zip(ALL, ask(*({"chart": str(CHART), "values": values} for values in ALL.values())), strict=True))


def objects(answer: Answer) -> dict[tuple[str, str], dict[str, Any]]:
    """Rendered objects by kind and name."""
    assert "objects" in answer, answer
    return {(each["kind"], each["metadata"]["name"]): each for each in answer["objects"]}


def test_helm_lints_and_renders_all_that_may_be_chosen(charts: dict[str, Answer]) -> None:
    assert {name: answer.get("lint", answer) for name, answer in charts.items()} == {name: [] for name in ALL}
    for answer in charts.values():
        assert len(objects(answer)) == len(answer["objects"])
    assert {kind for kind, _ in objects(charts["daemons only"])} == {"DaemonSet"}
    kinds = {kind for kind, _ in objects(charts["full"])}
    assert kinds >= {"Deployment", "StatefulSet", "DaemonSet", "Job", "NetworkPolicy", "PodDisruptionBudget"}


@pytest.mark.parametrize("version", KUBERNETES)
def test_objects_of_chart_and_kustomization_are_valid_in_kubernetes_schemas(
    ask: Ask, charts: dict[str, Answer], version: str
) -> None:
    """A ServiceMonitor is Prometheus' operator's, and has no schema here."""
    everything = [each for answer in charts.values() for each in objects(answer).values()] + kustomized()
    checked = [each for each in everything if each["kind"] != "ServiceMonitor"]
    assert ask({"objects": checked, "version": version}) == [{"wrong": []}]
    broken = [{**each, "spec": {**each["spec"], "replica": 2}} for each in checked if each["kind"] == "Deployment"]
    (told,) = ask({"objects": broken, "version": version})
    assert len(told["wrong"]) == len(broken)


def commands(page: str) -> list[list[str]]:
    """Words of each ``helm`` command of a page."""
    blocks = "\n".join(re.findall(r"(?ms)^ *```sh\n(.*?)^ *```$", page)).replace("\\\n", " ")
    return [shlex.split(line) for line in blocks.splitlines() if line.split()[:1] == ["helm"]]


def test_commands_of_the_page_give_values_that_the_chart_takes(ask: Ask) -> None:
    found = commands(PAGE.read_text())
    questions = []
    for words in found:
        action, release, chart, *options = words[1:]
        assert ROOT / chart == CHART and {word for word in options if word.startswith("-")} <= OPTIONS
        pairs = list(pairwise(options))
        given = ",".join(value for option, value in pairs if option == "--set")
        files = {
            key.split(".")[0] for option, value in pairs if option == "--set-file" for key in [value.split("=")[0]]
        }
        # what a command keeps of the release, or takes from files
        kept = {} if "existingSecret" in given and action == "install" else PLAIN
        assert action == "upgrade" or files == ({"controller", "agents"} if kept else set())
        questions.append({"chart": str(CHART), "release": release, "values": kept, "set": given})
    answers = ask(*questions)
    assert [answer for answer in answers if answer.get("lint") != []] == [] and len(answers) == 6


WRONG: list[tuple[Values, str]] = [
    ({}, "controller: config (--set-file controller.config=FILE) or existingSecret is needed"),
    ({"controller": PLAIN["controller"]}, "agents.agent: config"),
    ({**PLAIN, "controller": {"config": CONTROLLER, "existingSecret": "ours"}}, "exclude each other"),
    ({**PLAIN, "controller": {"config": CONTROLLER, "replicas": 0}}, "/controller/replicas"),
    ({**PLAIN, "contoller": {}}, "contoller"),
    ({**PLAIN, "agents": {"haproxyd": {"replicas": 1, "config": AGENT}}}, "/agents/haproxyd"),
    ({**PLAIN, "agents": {"Lab": {"replicas": 1, "config": AGENT}}}, "'Lab'"),
    ({**PLAIN, "haproxyd": {"enabled": True}}, "/haproxyd/existingSecret"),
    ({**PLAIN, "metrics": {"serviceMonitor": {"enabled": True}}}, "/metrics/port"),
    ({**PLAIN, "image": {"tag": "not a tag"}}, "/image/tag"),
]


def test_wrong_values_are_refused_by_their_names(ask: Ask) -> None:
    told = ask(*({"chart": str(CHART), "values": values} for values, _ in WRONG))
    for (values, name), answer in zip(WRONG, told, strict=True):
        assert name in answer.get("refused", ""), (values, answer)


def plain(value: Any) -> Any:
    """An object without labels, names of releases, images' tags and where its configuration comes from."""
    left_out = {"labels", "selector", "labelSelector", "annotations", "namespace", "imagePullPolicy", "managedFields"}
    if isinstance(value, dict):
        kept = {key: plain(item) for key, item in value.items() if key not in left_out}
        if "image" in kept:
            kept["image"] = kept["image"].partition(":")[0]
        if "secretName" in kept:
            kept["secretName"] = re.sub("-[2456789bcdfghkmt]{10}$", "", kept["secretName"])
        return kept
    return [plain(item) for item in value] if isinstance(value, list) else value


def test_the_chart_and_the_kustomization_deploy_the_same(charts: dict[str, Answer]) -> None:
    kinds = ("Deployment", "StatefulSet", "Service", "PodDisruptionBudget")
    ours = {key: plain(each) for key, each in objects(charts["plain"]).items() if key[0] in kinds}
    theirs = {(each["kind"], each["metadata"]["name"]): plain(each) for each in kustomized() if each["kind"] in kinds}
    assert ours == theirs and len(ours) == 6


def test_chart_and_images_have_the_version_of_the_product(charts: dict[str, Answer]) -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    images = {
        container["image"]
        for each in charts["full"]["objects"]
        if each["kind"] in ("Deployment", "StatefulSet", "DaemonSet", "Job")
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    registry = "registry.example.net/lb"
    assert images == {
        f"{registry}/evenkeel-controller:0.1.0",
        f"{registry}/evenkeel-agent:0.0.9",
        f"{registry}/evenkeel-haproxyd:0.1.0",
    }


def test_the_daemons_pod_has_the_units_capabilities_and_its_files_where_the_daemon_expects_them(
    charts: dict[str, Answer],
) -> None:
    spec = objects(charts["full"])["DaemonSet", "evenkeel-haproxyd"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    unit = (ROOT / "packaging" / "systemd" / "evenkeel-haproxyd.service").read_text()
    wanted = re.findall(r"CAP_(\w+)", " ".join(re.findall(r"(?m)^CapabilityBoundingSet=(.*)$", unit)))
    assert sorted(container["securityContext"]["capabilities"]["add"]) == sorted(wanted)
    sample = (ROOT / "docs" / "reference" / "haproxyd.ini.sample").read_text()
    (mount,) = (each["mountPath"] for each in container["volumeMounts"] if each["name"] == "config")
    (secret,) = (each["secret"] for each in spec["volumes"] if each["name"] == "config")
    paths = {f"{mount}/{item['path']}" for item in secret["items"]} - {"/etc/evenkeel/haproxyd.ini"}
    for path in paths:
        assert f" = {path}\n" in sample


def test_the_migration_runs_before_the_release_with_a_configuration_that_is_there(charts: dict[str, Answer]) -> None:
    for name, expected in (("plain", "evenkeel-migration"), ("secrets", "ours"), ("full", "db-admin")):
        all_of_it = objects(charts[name])
        job = all_of_it["Job", "evenkeel-migration"]
        (secret,) = (
            volume["secret"]["secretName"]
            for volume in job["spec"]["template"]["spec"]["volumes"]
            if volume["name"] == "config"
        )
        assert secret == expected and job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
        assert (("Secret", "evenkeel-migration") in all_of_it) is (name == "plain")
    made = objects(charts["plain"])["Secret", "evenkeel-migration"]
    assert made["stringData"] == {"controller.ini": CONTROLLER}
    assert int(made["metadata"]["annotations"]["helm.sh/hook-weight"]) < 0


def test_each_pod_is_chosen_by_its_own_service_policy_and_budget_only(charts: dict[str, Answer]) -> None:
    every = charts["full"]["objects"]
    pods = [each["spec"]["template"]["metadata"]["labels"] for each in every if "template" in each.get("spec", {})]
    for each in every:
        spec = each.get("spec", {})
        selector = spec.get("podSelector", spec.get("selector", {}))
        wanted = selector.get("matchLabels", selector)
        if wanted and each["kind"] != "ServiceMonitor":
            chosen = [labels for labels in pods if wanted.items() <= labels.items()]
            assert len(chosen) == 1, each["metadata"]["name"]


def test_prometheus_finds_metrics_under_the_jobs_that_alerts_name(charts: dict[str, Answer]) -> None:
    rendered = objects(charts["full"])
    monitor = rendered["ServiceMonitor", "evenkeel"]["spec"]
    services = [
        each
        for (kind, _), each in rendered.items()
        if kind == "Service" and monitor["jobLabel"] in each["metadata"]["labels"]
    ]
    jobs = {each["metadata"]["labels"][monitor["jobLabel"]] for each in services}
    alerts = (ROOT / "packaging" / "prometheus" / "alerts.yml").read_text()
    assert jobs == {"evenkeel-controller", "evenkeel-agent"} and all(f'job="{job}"' in alerts for job in jobs)
    assert len(services) == 3 and {each["spec"]["ports"][0]["name"] for each in services} == {"metrics"}
    assert monitor["endpoints"][0]["port"] == "metrics"


def test_notes_name_the_service_that_there_is(charts: dict[str, Answer]) -> None:
    for name in ("plain", "full"):
        service = re.search(r"port-forward service/(\S+) 9876:(\d+)", charts[name]["notes"])
        assert service is not None
        found = objects(charts[name])["Service", service[1]]
        assert found["spec"]["ports"][0]["port"] == int(service[2])
