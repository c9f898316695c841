"""The bill of materials of the wheel: from a lock file and what packages say that they need."""

from __future__ import annotations

import json

from tools import sbom
from tools.sbom import Locked

A, B, C = "a" * 64, "b" * 64, "c" * 64
LOCK = f"""\
first==1.2 \\
    --hash=sha256:{B} \\
    --hash=sha256:{A}
second-one==3.0.post1 ; python_version < "3.13" \\
    --hash=sha256:{C}
tests-alone==4 \\
    --hash=sha256:{C}

# The following packages are considered to be unsafe:
setuptools==84.2.1 \\
    --hash=sha256:{A}
"""
NEEDS = {
    "paddle-launcher": ["first>=1", "Second_One", 'tests-alone; extra == "test"'],
    "first": ["second.one[more]>=2; python_version < '3.13'", "elsewhere; sys_platform == 'win32'"],
    "second-one": ["first"],  # a circle
}


def test_a_lock_file_is_read_with_every_digest_in_order() -> None:
    found = sbom.locked(LOCK)
    assert found["first"] == Locked(version="1.2", digests=(A, B))
    assert {name: package.version for name, package in found.items()} == {
        "first": "1.2", "second-one": "3.0.post1", "tests-alone": "4", "setuptools": "84.2.1"
    }  # fmt: skip


def test_what_is_needed_is_followed_to_its_end_without_extras_and_without_what_is_not_locked() -> None:
    assert sbom.needed(sbom.locked(LOCK), NEEDS.get) == {
        "paddle-launcher": ("first", "second-one"), "first": ("second-one",), "second-one": ("first",)
    }  # fmt: skip


def test_the_bill_is_cyclonedx_with_names_versions_and_digests_and_without_an_address() -> None:
    told = sbom.text("paddle_launcher-0.1.0-py3-none-any.whl", b"wheel", LOCK, requires=NEEDS.get)
    bill = json.loads(told)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["metadata"]["component"]["version"] == "0.1.0"
    digests = {each["name"]: [digest["content"] for digest in each["hashes"]] for each in bill["components"]}
    assert digests == {"first": [A, B], "second-one": [C]}
    assert [each["version"] for each in bill["components"]] == ["1.2", "3.0.post1"]
    assert bill["dependencies"][1] == {
        "ref": "pkg:pypi/paddle-launcher@0.1.0", "dependsOn": ["pkg:pypi/first@1.2", "pkg:pypi/second-one@3.0.post1"]
    }  # fmt: skip
    assert "://" not in told
    assert told == sbom.text("paddle_launcher-0.1.0-py3-none-any.whl", b"wheel", LOCK, requires=NEEDS.get)
