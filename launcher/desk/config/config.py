"""The configuration at the desk, ~/.paddle/config: its datacenters, and every mistake in it.

Pure but for `read`. No message shows a value that could be a secret.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from launcher.desk import pod_flags
from launcher.desk.config.datacenters import Datacenter, DeskConfig, Storage
from launcher.desk.errors import Problem

KNOWN = (
    "name", "username", "password", "endpoint", "context", "certificate-authority", "namespace", "volume", "public",
    "image", "launcher-image", "images", "defaults",
)  # fmt: skip
_KINDS = ("claim", "hostPath", "nfs", "csi")
# Names in a path below /pfs; a user's name is usually a mail address.
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.@+]{0,100}[A-Za-z0-9])?")


def place(environ: Mapping[str, str], home: Path) -> Path:
    """Return where the configuration is; the same below a Windows user's directory."""
    return Path(environ.get("PADDLE_CONFIG") or home / ".paddle" / "config")


def read_config(path: Path, *, needed: bool, tell: Callable[[str], None]) -> DeskConfig:
    """Return the configuration in a file, and tell where others may read it; one that is not there is empty."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        mode = path.stat().st_mode
    except FileNotFoundError:
        if needed:
            raise Problem(
                f"{path} does not exist: expected the configuration that -config or PADDLE_CONFIG names"
            ) from None
        return DeskConfig(where=str(path))
    except (OSError, ValueError) as error:
        raise Problem(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    if os.name == "posix" and mode & (stat.S_IRGRP | stat.S_IROTH) and "password" in text:
        tell(f"{path} contains a password and can be read by others: run `chmod 600 {path}`")
    return parsed_config(text, str(path))


def parsed_config(text: str, where: str) -> DeskConfig:
    """Return what a configuration says, or every problem in it at once."""
    whole = _yaml(text, where)
    if whole is None:
        return DeskConfig(where=where)
    if not isinstance(whole, dict) or not isinstance(whole.get("datacenters") or [], list):
        raise Problem(f"{where}: expected a list `datacenters:` and a line `current-datacenter:`")
    rows = whole.get("datacenters") or []
    problems = [*_strange(whole, ("datacenters", "current-datacenter"), "it")]
    found = tuple(_datacenter(row, f"datacenter {at}", problems) for at, row in enumerate(rows, 1))
    names = [each.name for each in found]
    problems += [
        f"two datacenters have the name {name!r}: rename one of them"
        for name in sorted(set(names))
        if names.count(name) > 1 and name
    ]
    current = _text(whole, "current-datacenter", "it", problems)
    if problems:
        raise Problem(f"{where}: " + f"\n{where}: ".join(problems))
    return DeskConfig(datacenters=found, current=current, where=where)


def _yaml(text: str, where: str) -> object:
    import yaml  # type: ignore[import-untyped]  # comes with the kubernetes package, its stubs do not

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        # Its own words quote the line, and a password may be in that.
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise Problem(f"{where}{line}: not valid YAML; docs/paddlectl.md shows a configuration") from None
    except (ValueError, RecursionError, OverflowError, TypeError, AttributeError, KeyError, IndexError):
        raise Problem(f"{where}: a value in it is not valid YAML: put it in quotes") from None


def _datacenter(row: object, where: str, problems: list[str]) -> Datacenter:
    if not isinstance(row, dict):
        problems.append(f"{where}: expected `name:`, `endpoint:` or `context:`, and so on")
        return Datacenter()
    name = _text(row, "name", where, problems)
    where = f"datacenter {name!r}" if name else where
    problems.extend(_strange(row, KNOWN, where))
    made = Datacenter(
        name=name,
        username=_text(row, "username", where, problems),
        password=_text(row, "password", where, problems),
        endpoint=_text(row, "endpoint", where, problems).rstrip("/"),
        context=_text(row, "context", where, problems),
        authority=_text(row, "certificate-authority", where, problems),
        namespace=_text(row, "namespace", where, problems),
        image=_text(row, "image", where, problems),
        launcher_image=_text(row, "launcher-image", where, problems),
        with_launcher=_with_launcher(row.get("images"), f"{where}: images", problems),
        volume=_storage(row.get("volume"), f"{where}: volume", problems),
        public=_storage(row.get("public"), f"{where}: public", problems),
        defaults=_defaults(row.get("defaults"), f"{where}: defaults", problems),
    )
    problems.extend(f"{where}: {told}" for told in _wrong_with(made))
    return made


def _wrong_with(made: Datacenter) -> Iterator[str]:
    if not _NAME.fullmatch(made.name) or ".." in made.name:
        yield f"name: {made.name!r}: expected letters, digits, - and . (it is a directory's name, /pfs/<name>)"
    if bool(made.endpoint) == bool(made.context):
        yield "expected one of `endpoint:` (a Kubernetes API server) and `context:` (of the kubeconfig)"
    if made.endpoint:
        yield from _wrong_endpoint(made.endpoint)
        if not made.password:
            yield "`endpoint:` needs `password:`, a bearer token"
    if not made.password.isascii() or not made.password.isprintable():
        yield "password: expected a bearer token in one line"
    if made.volume and not made.username:
        yield "`volume:` needs `username:`: it is the home at /pfs/<datacenter>/home/<username>"
    if made.username and (not _NAME.fullmatch(made.username) or ".." in made.username):
        yield "username: expected letters, digits and - _ . @ +, as it is a directory's name"


def _wrong_endpoint(endpoint: str) -> Iterator[str]:
    try:
        url = urlsplit(endpoint)
        host, _ = url.hostname or "", url.port
    except ValueError:
        host = ""
    if not host or url.scheme not in ("http", "https") or url.username or url.password or url.query or url.fragment:
        yield "endpoint: expected a Kubernetes API server's address, such as https://10.0.0.1:6443"
    elif url.scheme == "http" and not _is_loopback(host):
        yield f"endpoint: http://{host} would send the token unencrypted: use https:// (http:// only for loopback)"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _storage(value: object, where: str, problems: list[str]) -> Storage | None:
    if value is None:
        return None
    said = [kind for kind in _KINDS if value.get(kind)] if isinstance(value, dict) else []
    if not isinstance(value, dict) or len(said) != 1:
        problems.append(
            f"{where}: expected one of {{claim: NAME}}, {{hostPath: /dir}}, {{nfs: server:/dir}} and {{csi: ...}}"
        )
        return None
    problems.extend(_strange(value, (*_KINDS, "path"), where))
    path = _text(value, "path", where, problems).strip("/")
    if ".." in path.split("/"):
        problems.append(f"{where}: path: expected a directory below its top, without `..`")
    csi = value.get("csi") or {}
    if not isinstance(csi, dict):
        problems.append(f"{where}: csi: expected `driver:`, `volumeHandle:` and so on")
        csi = {}
    claim, host, nfs = (_text(value, kind, where, problems) for kind in _KINDS[:3])
    return Storage(claim=claim, host_path=host, nfs=nfs, csi=csi, path=path)


def _defaults(value: object, where: str, problems: list[str]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.append(f"{where}: expected flags of submit without their dash, such as {{queue: team-a, shm: 4Gi}}")
        return {}
    problems.extend(_strange(value, pod_flags.POD_FLAG_NAMES, where))
    found, wrong = pod_flags.default_fields(
        {key: each for key, each in value.items() if key in pod_flags.POD_FLAG_NAMES}
    )
    problems.extend(f"{where}: {told}" for told in wrong)
    return found


def _with_launcher(value: object, where: str, problems: list[str]) -> tuple[str, ...]:
    """Return the images that are marked `launcher: true`."""
    marks = {} if value is None else value
    if not isinstance(marks, dict) or any(
        each not in ({"launcher": True}, {"launcher": False}) for each in marks.values()
    ):
        problems.append(
            f"{where}: expected images and what they have, such as {{your-repo/paddle:gpu: {{launcher: true}}}}"
        )
        return ()
    return tuple(str(name) for name, each in marks.items() if each["launcher"])


def _text(row: Mapping[object, object], key: str, where: str, problems: list[str]) -> str:
    value = row.get(key)
    if value is None:
        return ""
    # A name such as 123 is a number to YAML.
    text = str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
    if not text or not text.isprintable():
        problems.append(f"{where}: {key}: expected text" + (" (put it in quotes)" if value else ""))
        return ""
    return text


def _strange(row: Mapping[object, object], known: tuple[str, ...], where: str) -> Iterator[str]:
    for key in row:
        if key not in known:
            near = difflib.get_close_matches(str(key)[:40], known, 1)
            # A word like no known key may be a secret on the wrong side of the colon.
            meant = f" {key!r}: did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"
            yield f"{where} has an unknown key{meant}"
