"""What `start_paddle --help` and `--version` answer.

No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence

HELP = """\
usage: start_paddle [--name=value ...] [-- command ...]

Runs one pod of a distributed training job: waits until all pods of the Job run, gives this one its rank,
copies its data, runs the pserver and the trainer, keeps their logs, and exits with the code of the whole job.

Flags before `--` go to the trainer unchanged. Everything else is set by environment variables:

  JOB_NAME, JOB_PATH           the job's name, and the path where the shared volume is mounted
  CONF_PADDLE_GRADIENT_NUM     how many pods to wait for
  TRAIN_CONFIG_DIR             the directory of the job's files: below JOB_PATH/JOB_NAME, or an absolute path
  LAUNCHER_RUNTIME             v1, fleet, env, torch, jax, paddle, tensorflow, xgboost, lightgbm
                               (v1 without a command, fleet with one)
  LAUNCHER_PEERS               kubernetes, dns:NAME, static:ADDRESS,ADDRESS or self

All variables and their defaults are in docs/contracts.md.

examples:
  start_paddle --config=./trainer_config.py --num_passes=10     Paddle's v1 command line, in a Job
  LAUNCHER_RUNTIME=fleet start_paddle -- python train.py        Paddle 2.x parameter servers
  LAUNCHER_RUNTIME=torch start_paddle -- python train.py        no pservers: torch, JAX, Paddle collective, ...
  LAUNCHER_PEERS=self start_paddle -- python train.py           a plain init around one command
"""


def answer(arguments: Sequence[str]) -> str:
    """Return the text that --help or --version asks for, else nothing."""
    if arguments in (["-h"], ["--help"]):
        return HELP
    if arguments == ["--version"]:
        from importlib.metadata import version  # 15 ms that no other start needs

        return f"start_paddle {version('paddle-launcher')}\n"
    return ""
