"""Paddle's v1 command line on the parameter servers of PaddlePaddle 2.6.2."""

from __future__ import annotations

import sys
from dataclasses import fields
from functools import partial

from launcher.bridge import failure
from launcher.bridge.native import PADDLE_VERSION
from launcher.bridge.v1 import flags, pserver, trainer
from launcher.bridge.v1.log import V1Log

USAGE = """\
usage: paddle train --config=FILE [--save_dir=DIR] [--num_passes=N] ...     trains in this process, without pservers
       paddle train --config=FILE --local=0 --pservers=IP,IP --trainer_id=N --num_gradient_servers=N ...
       paddle pserver [--config=trainer_config.py] [--pservers=IP,IP] [--port=N] ...
       paddle version

paddle train --config=./trainer_config.py --save_dir=./output --num_passes=5
paddle pserver --port=7164 & paddle train --config=./trainer_config.py --local=0 --port=7164 --save_dir=./output

Several trainers need a launcher: start_paddle sets these flags for them. The launcher's docs/bridge.md describes a
config. Flags, with their defaults:

"""
ABOUT = f"PaddlePaddle {PADDLE_VERSION}'s parameter servers behind the v1 command line, with_gpu: OFF\n"
_COMMANDS = {"pserver": pserver.run_pserver, "train": trainer.train}


def main() -> int:
    """Run one of the commands and return its exit code."""
    command, words = (sys.argv[1] if sys.argv[1:] else ""), sys.argv[2:]
    if command in ("version", "--version"):
        sys.stdout.write(ABOUT)
        return 0
    if command == "help" or {"-h", "--help"} & {command, *words}:
        sys.stdout.write(flags_usage())
        return 0
    if command not in _COMMANDS:
        sys.stderr.write(f"paddle {command}: expected paddle {' or paddle '.join(_COMMANDS)}\n\n{flags_usage()}")
        return failure.SETTINGS
    log = V1Log()
    log.tell(f"commandline:  paddle {' '.join(sys.argv[1:])}")
    return failure.code_of(partial(run_command, command, words, log))


def run_command(command: str, words: list[str], log: V1Log) -> None:
    """Run a command with these flags."""
    _COMMANDS[command](flags.parse_flags(words), log)


def flags_usage() -> str:
    """Return the text of `paddle --help`."""
    told = (f"  --{field.name}={_shown(field.default)}\n" for field in fields(flags.V1Flags))
    return USAGE + "".join(told)


def _shown(default: object) -> str:
    return str(int(default)) if isinstance(default, bool) else str(default)


if __name__ == "__main__":
    failure.leave(main())
