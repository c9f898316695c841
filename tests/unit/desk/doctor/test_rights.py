"""The rights that doctor asks for are those that k8s/rbac/desk gives, no more and no less."""

from __future__ import annotations

import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

from launcher.desk.doctor.checks import RIGHTS
from tests.support.manifests import K8S


def test_doctor_asks_for_what_the_role_gives() -> None:
    role = yaml.safe_load((K8S / "rbac" / "desk" / "role.yaml").read_text())
    given = [
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    optional = [("kueue.x-k8s.io", "localqueues", "list")]  # few clusters have it
    assert sorted(given) == sorted([*RIGHTS, *optional])
