"""kubectl, bounded in time."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class KubectlFailed(Exception):
    """A kubectl command ended with an error: the message has its words and what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    """One cluster's kubectl, of one namespace where one is given."""

    program: Path
    kubeconfig: Path
    namespace: str = "default"

    def __call__(self, *words: str | Path, stdin: str | None = None, timeout: float = 60) -> str:
        """Run a kubectl command, and return its output."""
        said = tuple(map(str, words))
        command = (str(self.program), "--kubeconfig", str(self.kubeconfig), "--namespace", self.namespace, *said)
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode:
            raise KubectlFailed(
                f"`kubectl {' '.join(said)}` ended with {done.returncode}: {done.stderr}{done.stdout}"
            )
        return done.stdout

    def apply(self, *manifests: dict[str, Any] | str) -> None:
        """Apply manifests, given as objects or as YAML."""
        texts = [text if isinstance(text, str) else json.dumps(text) for text in manifests]
        # Begun with "{" it would be taken for JSON, which sometimes stumbles over what divides documents.
        self("apply", "--filename", "-", stdin="".join(f"---\n{text}\n" for text in texts))

    def get(self, *words: str) -> dict[str, Any]:
        """Return what `kubectl get` finds."""
        found: dict[str, Any] = json.loads(self("get", *words, "--output", "json"))
        return found

    def items(self, *words: str) -> list[dict[str, Any]]:
        """Return the list that `kubectl get` finds."""
        found: list[dict[str, Any]] = self.get(*words)["items"]
        return found

    def within(self, namespace: str) -> Kubectl:
        """Return the same kubectl for another namespace."""
        return Kubectl(program=self.program, kubeconfig=self.kubeconfig, namespace=namespace)
