"""Images without a registry: archives made of files that are here, as `docker save` would write them."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tests.grounds.cluster.packages import BUSYBOX, CATATONIT

PAUSE = "ground.test/pause:1"
BOX = "ground.test/box:1"
APPLETS = (
    "cat",
    "date",
    "echo",
    "false",
    "hostname",
    "httpd",
    "ls",
    "nc",
    "nslookup",
    "sh",
    "sleep",
    "test",
    "true",
    "wget",
)


def pause(archive: Path) -> Path:
    """Write the image that holds a pod's namespaces."""
    return write(archive, PAUSE, {"pause": CATATONIT}, config={"Entrypoint": ["/pause", "-P"]})


def box(archive: Path) -> Path:
    """Write an image with a shell and a few tools, for pods that only have to be there."""
    links = {f"bin/{applet}": "busybox" for applet in APPLETS}
    config = {"Entrypoint": ["/bin/sh", "-c"], "Env": ["PATH=/bin"], "WorkingDir": "/"}
    return write(archive, BOX, {"bin/busybox": BUSYBOX}, links=links, config=config)


def write(
    archive: Path,
    name: str,
    files: Mapping[str, Path],
    *,
    links: Mapping[str, str] | None = None,
    config: Mapping[str, object],
) -> Path:
    """Write an archive that holds one image of one layer, with these files, and return its path."""
    layer = archive.with_suffix(".layer")
    layer.write_bytes(layer_of(files, links or {}))
    packed(archive, name, layer, config=config)
    layer.unlink()
    return archive


def packed(archive: Path, name: str, layer: Path, *, config: Mapping[str, object]) -> Path:
    """Write an archive that holds one image of one layer, which is a tar that is there, and return its path."""
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    description = {
        "architecture": machine_name(),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(archive, "w") as tar:
        tar.add(layer, "layer.tar")
        add(tar, "config.json", json.dumps(description).encode(), 0o644)
        add(tar, "manifest.json", json.dumps(manifest).encode(), 0o644)
    return archive


def layer_of(files: Mapping[str, Path], links: Mapping[str, str]) -> bytes:
    """Return a layer's bytes."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for name, path in files.items():
            add(tar, name, path.read_bytes(), 0o755)
        for name, target in links.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
        for name in ("tmp", "etc"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)
    return layer.getvalue()


def add(tar: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    """Add a file to an archive."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def machine_name() -> str:
    """Return this machine's architecture by the name that images carry."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
