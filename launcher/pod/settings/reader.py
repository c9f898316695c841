"""How one variable is read: asked for by name once, checked, its problem kept for later.

No I/O here.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TypeVar

from launcher.pod.settings.masking import hidden

_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
HOST = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?\.?")
# What Kubernetes and Docker make from the name of a Service that happens to start like ours.
FROM_SERVICE = re.compile(r".*_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)")
SERVICE_URL = re.compile(r"(tcp|udp|sctp)://")

Choice = TypeVar("Choice", bound=StrEnum)


class Reader:
    """Reads variables by name; remembers every name that was asked for, and every problem met."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.problems: list[str] = []
        self.asked: dict[str, str] = {}

    def problem(self, name: str, given: str, expected: str) -> None:
        """Keep one problem: the variable, what was given, what was expected."""
        told = f"{name}={hidden(given)!r}" if given or name in self.environ else f"{name} is not set"
        if SERVICE_URL.match(given):
            service = name.removesuffix("_PORT").lower().replace("_", "-")
            expected += f" (a Service named {service} set it: set enableServiceLinks: false in the pod)"
        sentence = f"{told}: expected {expected}"
        if sentence not in self.problems:
            self.problems.append(sentence)

    def text(self, name: str, *, default: str = "", shown: str | None = None) -> str:
        """Return the variable as it is; an empty one counts as not set."""
        self.asked[name] = default if shown is None else shown
        return self.environ.get(name) or default

    def choice(self, name: str, kind: type[Choice], *, default: Choice, shown: str | None = None) -> Choice:
        """Return one of a few words."""
        given = self.text(name, default=default, shown=shown)
        try:
            return kind(given)
        except ValueError:
            self.problem(name, given, " or ".join(kind))
            return default

    def whole(self, name: str, *, default: int, low: int, high: int, shown: str | None = None) -> int:
        """Return a whole number within its bounds."""
        given = self.text(name, default=str(default), shown=shown)
        if re.fullmatch(r"[0-9]{1,9}", given) and low <= int(given) <= high:
            return int(given)
        if self.environ.get(name):
            self.problem(name, given, f"a whole number from {low} to {high}")
        return default

    def seconds(self, name: str, *, default: float, shown: str | None = None) -> float:
        """Return a positive number of seconds, at most a week."""
        given = self.text(name, default=f"{default:g}", shown=shown)
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", given) and 0 < float(given) <= 604_800:
            return float(given)
        self.problem(name, given, "a number of seconds, more than 0 and at most 604800")
        return default

    def index(self, name: str) -> int | None:
        """Return a rank that Kubernetes gave, where it gave one."""
        given = self.text(name)
        if given and not re.fullmatch(r"[0-9]{1,9}", given):
            self.problem(name, given, "the completion index of an Indexed Job")
            return None
        return int(given) if given else None

    def switch(self, name: str, *, on: str, off: str) -> bool:
        """Return whether the first of two words stands; it is the default."""
        given = self.text(name, default=on)
        if given not in (on, off):
            self.problem(name, given, f"{on} or {off}")
        return given == on

    def switch_or_auto(self, name: str) -> bool | None:
        """Return on, off, or None for a choice that depends on the rest."""
        given = self.text(name, default="auto")
        if given not in ("on", "off", "auto"):
            self.problem(name, given, "on, off or auto")
        return None if given == "auto" else given == "on"

    def label(self, name: str, *, shown: str | None = None) -> str:
        """Return a name that can be a label's value and a directory's name alike."""
        given = self.text(name, shown=shown)
        if given and not _LABEL.fullmatch(given):
            self.problem(
                name, given, "at most 63 letters, digits and - _ . inside (it becomes a label and a directory)"
            )
            return ""
        return given

    def word(self, name: str, *, shown: str | None = None) -> str:
        """Return a value of printable characters without blanks."""
        given = self.text(name, shown=shown)
        if given and (not given.isprintable() or " " in given):
            self.problem(name, given, "printable characters without blanks")
            return ""
        return given

    def address(self, name: str) -> str:
        """Return an IP address in its shortest form."""
        given = self.text(name)
        try:
            return str(ipaddress.ip_address(given)) if given else ""
        except ValueError:
            self.problem(name, given, "an IP address")
            return ""

    def hosts(self, name: str, given: str) -> tuple[str, ...]:
        """Return the comma-separated addresses or names of a list, refusing a repeated or broken one."""
        found = tuple(part.strip() for part in given.split(",")) if given else ()
        for host in found:
            if not (HOST.fullmatch(host) or _is_address(host)):
                self.problem(name, host, "addresses or host names, separated by commas")
        if len(set(found)) < len(found):
            self.problem(name, given, "each address once")
        return found

    def absolute(self, name: str, *, shown: str | None = None) -> PurePosixPath | None:
        """Return an absolute path without tricks in it."""
        given = self.text(name, shown=shown)
        if not given:
            return None
        if not given.startswith("/") or _tricky(given):
            self.problem(name, given, "an absolute path without `..` or unprintable characters")
            return None
        return PurePosixPath("/", *PurePosixPath(given).parts[1:])

    def absolute_or_none(self, name: str, *, shown: str) -> str:
        """Return an absolute path as text, `none`, or nothing where the default stands."""
        if self.environ.get(name) == "none":
            self.asked[name] = shown
            return "none"
        return str(self.absolute(name, shown=shown) or "")

    def directory(self, name: str) -> PurePosixPath | None:
        """Return an absolute path, or one that stays below the directory that it is joined to."""
        given = self.text(name)
        if not given:
            return None
        if given.startswith("/") and given.strip("/"):
            return self.absolute(name)
        if given.startswith("/") or _tricky(given) or not PurePosixPath(given).parts:
            self.problem(name, given, "a relative or absolute path without `..` or unprintable characters")
            return None
        return PurePosixPath(given)

    def refuse_unknown(self, prefix: str, but: Collection[str] = ()) -> None:
        """Keep a problem for each unknown variable with our prefix, with the nearest known name."""
        names = [name for name in self.asked if name.startswith(prefix)]
        for name, value in self.environ.items():
            if (
                not value
                or not name.startswith(prefix)
                or name in names
                or name in but
                or _made_from_service(name, value)
            ):
                continue
            near = difflib.get_close_matches(name, names, n=1)
            expected = f"{near[0]}?" if near else "one of " + ", ".join(sorted(names))
            # Its value is not shown: it is not for this launcher, and may be a secret.
            self.problems.append(f"{name} is not a variable of the launcher: expected {expected}")

    def forget_all_but(self, prefix: str) -> None:
        """Drop the problems of variables that do not concern what is asked for."""
        self.problems = [each for each in self.problems if each.startswith((prefix, "argument"))]


def _tricky(path: str) -> bool:
    return ".." in path.split("/") or not path.isprintable()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _made_from_service(name: str, value: str) -> bool:
    if FROM_SERVICE.fullmatch(name):
        return True
    return name.endswith("_PORT") and SERVICE_URL.match(value) is not None
