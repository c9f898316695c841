from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.data.links import Link, leaving


@pytest.mark.parametrize(
    "target",
    ["b", "./b", "sub/b", "../a", "sub/../b", ".", "", "sub//b", "a-link/x", "nowhere", "../top/../a"],
)
def test_a_link_that_stays_in_the_tree_is_fine(target: str) -> None:
    links = {"sub/it": Link(target=target), "sub/a-link": Link(target="../other")}
    assert leaving(links) == ()


@pytest.mark.parametrize(
    "target",
    ["/etc/passwd", "../..", "../../tree/a", "a-link/../..", "x/../../../a", "round", "sub-link/../../../x"],
)
def test_a_link_is_refused_that_leaves_the_tree_or_goes_in_circles(target: str) -> None:
    links = {
        "sub/it": Link(target=target),
        "sub/a-link": Link(target="../other"),
        "sub/round": Link(target="round"),
        "sub/sub-link": Link(target="../sub"),
    }
    assert "sub/it" in leaving(links)


def test_a_link_of_the_image_may_lead_anywhere_but_no_other_through_it() -> None:
    links = {"out": Link(target="/etc", trusted=True), "through": Link(target="out/passwd")}
    assert leaving(links) == ("through",)


NAMES = st.sampled_from(["a", "b", "c/d", "c/e"])
TARGETS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "..", "."]), min_size=1, max_size=4).map("/".join)


@given(st.dictionaries(NAMES, TARGETS, max_size=4))
def test_what_stays_by_this_rule_stays_by_the_file_systems(links: dict[str, str]) -> None:
    with TemporaryDirectory() as top:
        tree = Path(top).resolve() / "tree"
        (tree / "c").mkdir(parents=True)
        for path, target in links.items():
            (tree / path).symlink_to(target)
        refused = leaving({path: Link(target=target) for path, target in links.items()})
        for path in links.keys() - set(refused):
            assert (tree / path).resolve().is_relative_to(tree)
