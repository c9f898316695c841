"""The flags of v1 that this `paddle` takes: `--name=value` or `--name value`, booleans as 0, 1, true or false.

All mistakes are reported together, and no flag is ignored: a training without a misspelled flag would be another
training. argparse stops at the first mistake, and takes 10 ms and 2 MB to import.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from launcher.bridge.failure import SETTINGS, TrainingFailure


@dataclass(frozen=True)
class V1Flags:
    """Every flag with v1's default; pserver and trainer have the same ones, as in v1."""

    nics: str = ""
    port: int = 20134
    ports_num: int = 1
    ports_num_for_sparse: int = 0
    pservers: str = ""
    num_gradient_servers: int = 1
    trainer_id: int = 0
    local: bool = True
    config: str = ""
    save_dir: str = ""
    init_model_path: str = ""
    start_pass: int = 0
    num_passes: int = 100
    saving_period: int = 1
    test_period: int = 0
    test_all_data_in_one_period: bool = False
    log_period: int = 100
    dot_period: int = 1
    show_parameter_stats_period: int = 0
    trainer_count: int = 1
    use_gpu: bool = False
    comment: str = ""

    @property
    def last_port(self) -> int:
        """The last port that a pserver opens."""
        return self.port + self.ports_num + self.ports_num_for_sparse - 1


OTHER_NAMES = {"port_num": "ports_num"}
_LEAST = {"port": 1, "ports_num": 1, "num_gradient_servers": 1, "trainer_count": 1, "saving_period": 1}
BOOLEANS = {"0": False, "false": False, "1": True, "true": True}
_KINDS: dict[str, type] = {field.name: type(field.default) for field in fields(V1Flags)}


def parse_flags(words: Sequence[str]) -> V1Flags:
    """Return the flags; refuse the words with a line for each mistake."""
    found: dict[str, Any] = {}
    wrong = []
    for name, text in _pairs(words):
        try:
            found[name] = _value(name, text)
        except ValueError as error:
            wrong.append(str(error))
    flags = V1Flags(**found)
    wrong += _contradictions(flags)
    if wrong:
        raise TrainingFailure(SETTINGS, "\n".join(wrong))
    return flags


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield names and values, unchanged."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, given, text = word.partition("=")
        name = name[2:] if name.startswith("--") else word
        name = OTHER_NAMES.get(name, name)
        if not given and _KINDS.get(name) is bool:
            text = rest.pop(0) if rest and rest[0].lower() in BOOLEANS else "1"
        elif not given and rest and not rest[0].startswith("--"):
            text = rest.pop(0)
        yield name, text


def _value(name: str, text: str) -> Any:  # noqa: ANN401  # of the flag's own kind
    kind = _KINDS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, _KINDS, n=1)
        hint = f"did you mean --{near[0]}?" if near else "run paddle --help for the list"
        raise ValueError(f"--{name.lstrip('-')} is not a flag of this paddle: {hint}")
    if kind is bool:
        if text.lower() not in BOOLEANS:
            raise ValueError(f"--{name}={text}: expected 0, 1, true or false")
        return BOOLEANS[text.lower()]
    if kind is int:
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= _LEAST.get(name, 0)):
            raise ValueError(f"--{name}={text}: expected a whole number, {_LEAST.get(name, 0)} or more")
        return int(text)
    return text


def _contradictions(flags: V1Flags) -> list[str]:
    cases = (
        (flags.use_gpu, "--use_gpu=1: these parameter servers run on CPUs only: expected --use_gpu=0"),
        (
            flags.last_port > 65535,
            f"--port={flags.port} and the ports after it end at {flags.last_port}: expected at most 65535",
        ),
        (
            flags.trainer_id >= flags.num_gradient_servers,
            f"--trainer_id={flags.trainer_id}: expected 0 to {flags.num_gradient_servers - 1}, "
            f"by --num_gradient_servers={flags.num_gradient_servers}",
        ),
        (
            bool(flags.start_pass and not flags.save_dir),
            f"--start_pass={flags.start_pass}: expected --save_dir, the directory with the pass before it",
        ),
    )
    return [sentence for wrong, sentence in cases if wrong]
