"""What `start_paddle --help` and `--version` answer.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence

HELP = """\
usage: start_paddle [--name=value ...] [-- command ...]

Makes a gang of the pods of one Kubernetes Job: waits until all of them run, deals ranks, copies this
rank's data, runs the pserver and the trainer, keeps their logs, and ends with one truthful exit code.

Flags before `--` go to the trainer as they are. Everything else is said by environment variables:

  JOB_NAME, JOB_PATH           the job's name, and where the shared volume is mounted
  CONF_PADDLE_GRADIENT_NUM     how many pods to wait for
  TRAIN_CONFIG_DIR             the job's files, below JOB_PATH/JOB_NAME, or anywhere by an absolute path
  LAUNCHER_RUNTIME             v1, fleet or env (v1 without a command, fleet with one)
  LAUNCHER_PEERS               kubernetes, dns:NAME, static:ADDRESS,ADDRESS or self

and more, each with its default, in docs/contracts.md.

examples:
  start_paddle --config=./trainer_config.py --num_passes=10     Paddle's v1 command line, in a Job
  LAUNCHER_RUNTIME=fleet start_paddle -- python train.py        Paddle 2.x parameter servers
  LAUNCHER_RUNTIME=env start_paddle -- python train.py          RANK, WORLD_SIZE, MASTER_ADDR: torch and others
  LAUNCHER_PEERS=self start_paddle -- python train.py           a plain init around one command
"""


def answer(arguments: Sequence[str]) -> str:
    """Return what is to be printed instead of living, or nothing."""
    if arguments in (["-h"], ["--help"]):
        return HELP
    if arguments == ["--version"]:
        from importlib.metadata import version  # 15 ms that nobody else pays

        return f"start_paddle {version('paddle-launcher')}\n"
    return ""
