"""Manifests as YAML for people: in the order of the manifests, no line broken, nothing said by reference.

No I/O here.
"""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def yaml(manifests: Iterable[dict[str, Any]]) -> str:
    """Return the documents as one text."""
    try:
        import yaml as pyyaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not
    except ImportError:  # a training program's own Python has none; JSON is YAML, too
        return "".join(f"---\n{json.dumps(each, indent=2)}\n" for each in manifests)

    class Plain(pyyaml.SafeDumper):  # type: ignore[misc]  # without stubs it is Any
        """Writes repeated values in full, without references."""

        def ignore_aliases(self, _: object) -> bool:
            return True

    text: str = pyyaml.dump_all(
        manifests, Dumper=Plain, sort_keys=False, width=sys.maxsize, allow_unicode=True, explicit_start=True
    )
    return text
