"""Reasons that tenants read name nothing of another project."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.api.common.reasons import provisioning_reason
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.core.resources.statuses import ProvisioningStatus
from tests.store import builders

OWN_PROJECT = "0f63c6f02f5c4b6c9b3f2a7d1f6a9c11"
OTHER_PROJECT = "9d1f0c2ab7d84d0fa4c55e1b7a6f3e22"
OTHER_ID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
OWN_ID = "16fd2706-8baf-433b-82eb-8c7fada847da"
LISTENER = "6fa459ea-ee8a-3ca4-894e-db77e160355e"
MEMBER = "886313e1-3b8a-5372-9b90-0c9aee199e5d"


def told(reason: str, project_id: str = OWN_PROJECT, status: ProvisioningStatus = ProvisioningStatus.ERROR) -> str:
    """The reason that the tenant of a load balancer with this stored reason reads."""
    row: LoadBalancer = builders.load_balancer(
        id=OWN_ID, project_id=project_id, listener_ids=(LISTENER,), provisioning_status=status, status_reason=reason
    )
    return provisioning_reason(status, row) or ""


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (
            f"address 192.0.2.7 is held by load balancer {OTHER_ID}",
            "address 192.0.2.7 is held by another load balancer",
        ),
        (f"address 192.0.2.7 is held by {OTHER_ID}", "address 192.0.2.7 is held by another object"),
        (
            f"address 192.0.2.7 port 80 is used by load balancer {OTHER_ID} in partition Project_{OTHER_PROJECT}",
            "address 192.0.2.7 port 80 is used by another load balancer in another partition",
        ),
        (
            f"lb1: 01020066:3: The requested Virtual Address (/Project_{OTHER_PROJECT}/Project_{OTHER_ID}) already"
            f" exists in partition Project_{OTHER_PROJECT}.",
            "lb1: 01020066:3: The requested Virtual Address (another tenant's object) already"
            " exists in another partition.",
        ),
        (f"{OTHER_ID.upper()} and {OTHER_PROJECT}", "another object and another object"),
    ],
)
def test_objects_of_other_projects_are_not_named(stored: str, shown: str) -> None:
    assert told(stored) == shown


@pytest.mark.parametrize(
    "stored",
    [
        f"listener {LISTENER}: the device refuses it",
        f"load balancer {OWN_ID} of partition Project_{OWN_PROJECT} is guarded by epoch 7",
        f"01070734:3: Configuration error: /Project_{OWN_PROJECT}/Project_{MEMBER} is in use",
        f"member {MEMBER}: monitor_port is in use; subnets {MEMBER}, {LISTENER} are in use",
        f"https://barbican.example/v1/containers/{MEMBER}: the key manager does not have it",
        "url_path '/api/health' and /Common/http are known; partition that is full",
    ],
)
def test_own_objects_and_references_stay_named(stored: str) -> None:
    assert told(stored) == stored


def test_partition_of_a_project_whose_id_is_no_uuid_is_not_named() -> None:
    assert told("it exists in partition Project_web", project_id="db") == "it exists in another partition"
    assert told("it exists in partition Project_web", project_id="web") == "it exists in partition Project_web"


def test_active_object_has_no_reason() -> None:
    assert told("whatever", status=ProvisioningStatus.ACTIVE) == ""


WORDS = (
    OTHER_ID,
    OTHER_PROJECT,
    f"/Project_{OTHER_PROJECT}/Project_{OTHER_ID}",
    f"partition Project_{OTHER_PROJECT}",
    f"'{OTHER_ID}':",
    "load balancer",
    "partition",
    "listener",
    "/Common/x",
)


@given(st.lists(st.sampled_from(WORDS)))
def test_no_text_carries_an_id_of_another_project_to_the_tenant(words: list[str]) -> None:
    shown = told(" ".join(words))
    assert OTHER_ID not in shown and OTHER_PROJECT not in shown
