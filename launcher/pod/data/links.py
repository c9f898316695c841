"""Where the symbolic links of a tree lead, without asking a file system.

No I/O here. A link is refused as soon as its way steps out of the tree, even if it would come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HOPS = 40  # as many as Linux follows


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A symbolic link: what it says, its path for messages, and whether it is the image's own, which may leave."""

    target: str
    where: str = ""
    trusted: bool = False


def leaving(links: Mapping[str, Link]) -> tuple[str, ...]:
    """Return the paths of the links that lead out of the tree, or in circles; paths are relative to the tree."""
    return tuple(path for path, link in links.items() if not link.trusted and not _stays(path, links))


def _stays(path: str, links: Mapping[str, Link]) -> bool:
    here: list[str] = []
    todo = path.split("/")[::-1]
    hops = 0
    while todo:
        part = todo.pop()
        if part == "..":
            if not here:
                return False
            here.pop()
        elif part not in ("", "."):
            here.append(part)
            link = links.get("/".join(here))
            if link is None:
                continue
            hops += 1
            if hops > HOPS or link.target.startswith("/"):
                return False
            here.pop()
            todo += link.target.split("/")[::-1]
    return True
