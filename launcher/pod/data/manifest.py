"""What a manifest beside the shards says of their files: read as from a stranger, matched with the shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from launcher.contract import MANIFEST
from launcher.dataset.manifest import MANIFEST_LIMIT, Entry, Manifest, parse_manifest
from launcher.dataset.problem import DatasetError
from launcher.pod.outcome import ShardError
from launcher.safefs.dirs import Dir, format_of, opened
from launcher.safefs.small_file import read_at_most


def listed_in(job: Dir, shards: Sequence[Dir], ways: int) -> Mapping[str, Entry]:
    """Return the files that a manifest lists in these shards, by their paths; none where there is no manifest."""
    found = _manifest(job)
    if found is None:
        return {}
    if found.shards != ways:
        raise ShardError(
            f"{job.path}: {ways} shards are there, and {MANIFEST} lists {found.shards}: "
            "expected only those that it lists; move the others away, or the manifest if it is outdated"
        )
    entries = {f"{job.path}/{entry.name}": entry for entry in found.files}
    mine = tuple(f"{shard.path}/" for shard in shards)
    return {path: entry for path, entry in entries.items() if path.startswith(mine)}


def _manifest(job: Dir) -> Manifest | None:
    if not format_of(job, MANIFEST):
        return None
    with opened(job, MANIFEST) as file:
        text = read_at_most(file, MANIFEST_LIMIT + 1)
    try:
        if len(text) > MANIFEST_LIMIT:
            raise DatasetError(f"more than {MANIFEST_LIMIT} bytes")
        return parse_manifest(text)
    except DatasetError as error:
        raise ShardError(f"{job.path}/{MANIFEST}: {error}; expected the manifest of a split; move it away") from None
