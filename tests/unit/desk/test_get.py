"""A table that grows: columns that fit on a terminal, tabs elsewhere."""

from __future__ import annotations

from argparse import Namespace

import pytest

from launcher.desk.session import Desk, DeskFlags
from launcher.desk.terminal import Terminal
from launcher.desk.verbs.get import GrowingTable

ON_A_SCREEN = """\
NUM  NAME   SERVER  USERNAME
0    mine   s       u
1    other  s       <nil>
NUM  NAME                SERVER  USERNAME
2    one-of-a-long-name  s       u
3    mine                s       u
"""
ELSEWHERE = """\
NUM\tNAME\tSERVER\tUSERNAME
0\tmine\ts\tu
1\tother\ts\t<nil>
2\tone-of-a-long-name\ts\tu
3\tmine\ts\tu
"""


@pytest.mark.parametrize(("screen", "shown"), [(True, ON_A_SCREEN), (False, ELSEWHERE)])
def test_the_head_comes_first_and_again_where_columns_grew(
    screen: bool, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = GrowingTable(Desk(DeskFlags(), terminal=Terminal(screen=screen)), Namespace(what="registry", o=""))
    table.add([(0, "mine", "s", "u"), (1, "other", "s", None)])
    table.add([])
    table.add([(2, "one-of-a-long-name", "s", "u")])
    table.add([(3, "mine", "s", "u")])
    assert capsys.readouterr().out == shown
