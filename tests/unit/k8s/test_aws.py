"""What stands in k8s/aws: the volume, rights for what they are needed for, and a guide in the right order."""

from __future__ import annotations

import json

import pytest

from tests.support.manifests import K8S, Json, document, one


def test_the_efs_claim_takes_the_volume_made_by_hand_and_no_other() -> None:
    volume, claim = one("aws", "PersistentVolume"), one("aws", "PersistentVolumeClaim")
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert claim["spec"]["storageClassName"] == volume["spec"]["storageClassName"] == ""
    assert claim["spec"]["accessModes"] == volume["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claim["spec"]["resources"]["requests"]["storage"] == volume["spec"]["capacity"]["storage"]
    assert volume["spec"]["csi"]["driver"] == "efs.csi.aws.com"
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


def policies() -> list[tuple[str, Json]]:
    texts = {path.stem: json.loads(path.read_text()) for path in sorted(K8S.glob("aws/iam/*.json"))}
    return [(f"{name}: {each['Sid']}", each) for name, found in texts.items() for each in found["Statement"]]


@pytest.mark.parametrize("statement", [each for _, each in policies()], ids=[name for name, _ in policies()])
def test_a_right_in_aws_is_for_what_it_needs(statement: Json) -> None:
    actions, resources = (
        [given] if isinstance(given := statement[key], str) else given for key in ("Action", "Resource")
    )
    assert statement["Effect"] == "Allow"
    if any("*" in action for action in actions):
        assert all("/paddle" in resource for resource in resources)
    if resources == ["*"] and actions != ["cloudformation:ListStacks"]:
        assert statement["Condition"]["StringEquals"]["aws:RequestedRegion"] == "REGION"
        assert not any(action.startswith("iam:") for action in actions)


def test_nothing_on_aws_is_open_to_all() -> None:
    files = [path for path in K8S.glob("aws/**/*") if path.suffix in (".yaml", ".json")]
    assert not [path for path in files if "0.0.0.0/0" in path.read_text()]
    cluster = document(K8S / "aws/eksctl/cluster.yaml")
    assert cluster["vpc"]["publicAccessCIDRs"] == ["MY_ADDRESS/32"]
    (nodes,) = cluster["managedNodeGroups"]
    assert nodes["privateNetworking"]
    assert nodes["disablePodIMDS"]
    assert nodes["desiredCapacity"] == one("aws")["spec"]["parallelism"]  # a host port wants a node for each pod


def test_the_guide_takes_down_in_the_order_in_which_it_can() -> None:
    guide = (K8S / "aws/GUIDE.md").read_text()
    _, down = guide.split("## 8. Down again")
    steps = [
        "delete -f k8s/aws/job.yaml",
        "delete pod files",
        "delete -f k8s/aws/claim.yaml",
        "-f k8s/aws/volume.yaml",
        "efs delete-mount-target",
        "ec2 delete-security-group",
        "efs delete-file-system",
        "eksctl delete cluster",
        "iam delete-role --role-name",
    ]
    places = [down.index(step) for step in steps]
    assert places == sorted(places)
