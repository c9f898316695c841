"""A tree that is measured is the one whose launcher runs, not the one that is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.lives import Ground
from bench.trees import ROOT, NoTree, check_own


def ground(tree: Path) -> Ground:
    return Ground(directory=tree, quick=True, root=False, progress=lambda _: None, tree=tree)


def test_a_trees_own_launcher_comes_before_the_installed_one(tmp_path: Path) -> None:
    (tmp_path / "launcher" / "pod").mkdir(parents=True)
    for package in ("launcher", "launcher/pod"):
        (tmp_path / package / "__init__.py").touch()
    check_own(ground(tmp_path))
    check_own(ground(ROOT))


def test_a_tree_without_a_launcher_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoTree, match=f"expected it below {tmp_path}"):
        check_own(ground(tmp_path))
