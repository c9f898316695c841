"""The sentence for a missing right: the Role and the RoleBinding that give it, ready to apply.

No I/O here.
"""

from __future__ import annotations

import re

ACCOUNT = re.compile(r"system:serviceaccount:([a-z0-9][-a-z0-9]{0,62}):([a-z0-9][-a-z0-9.]{0,252})")

ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: paddle-launcher
  namespace: {namespace}
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: paddle-launcher
  namespace: {namespace}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: paddle-launcher
subjects:
- kind: ServiceAccount
  name: {account}
  namespace: {home}
"""


def missing_right(said: str, namespace: str) -> str:
    """Return what the API refused and what to apply; `said` usually names the account that was refused."""
    found = ACCOUNT.search(said)
    home, account = found.groups() if found else (namespace, "default")
    role = ROLE.format(namespace=namespace, account=account, home=home)
    return (
        f"the Kubernetes API refuses to show this job's pods: {said}. Ask an administrator of "
        f"the namespace {namespace} to save these lines as role.yaml and run `kubectl apply -f role.yaml`:\n{role}"
    )
