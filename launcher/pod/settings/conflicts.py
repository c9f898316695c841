"""What is wrong between variables that are each right alone: a table of cases and their sentences.

No I/O here.
"""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet
from dataclasses import replace

from launcher.contract import is_plain
from launcher.pod.outcome import SettingsError
from launcher.pod.settings.nouns import LAP, PeersFrom, Role, Runtime, Settings

# What the launcher itself passes to a v1 trainer, and how to change it.
V1_OWN = {
    "nics": "set CONF_PADDLE_NIC",
    "port": "set CONF_PADDLE_PORT",
    "ports_num": "set CONF_PADDLE_PORTS_NUM",
    "pservers": "set LAUNCHER_PEERS",
    "num_gradient_servers": "set CONF_PADDLE_GRADIENT_NUM",
    "trainer_id": "remove it, the rank follows from LAUNCHER_PEERS",
    "save_dir": "set JOB_PATH and JOB_NAME",
    "comment": "remove it, it is always paddle_process_by_paddle",
}
YES = ("1", "t", "true", "y", "yes")  # as v1 takes a boolean, in any case


def contradictions(settings: Settings, given: AbstractSet[str]) -> list[str]:
    """Return a sentence for each contradiction; `given` names the variables that are set."""
    cases = (
        *_names(settings, given),
        *_roles(settings, given),
        *_size(settings),
        *_width(settings),
        *_paths(settings),
        *_ports(settings),
        *_v1(settings),
    )
    return [sentence for wrong, sentence in cases if wrong]


def for_devices(settings: Settings, seen: int) -> Settings:
    """Return the settings with the number of programs in this pod, which sees so many devices, or raise why not."""
    asked, devices = settings.processes, "device is" if seen == 1 else "devices are"
    settings = replace(settings, processes=asked or seen)
    cases = (
        (
            asked == seen == 0,
            "LAUNCHER_PROCESSES=gpu, and no device is seen in this pod (/dev/nvidia0, /dev/accel0 ...): "
            "expected a limit such as nvidia.com/gpu in its manifest, or a number",
        ),
        (
            asked > seen > 0,
            f"LAUNCHER_PROCESSES={asked}, and {seen} {devices} seen in this pod: expected at most {seen}, or gpu",
        ),
        *_ports(settings),
    )
    if problems := [sentence for wrong, sentence in cases if wrong]:
        raise SettingsError(problems)
    return settings


def paths_in_each_other(settings: Settings) -> list[str]:
    """Return a sentence for each directory that is in one that it must not be in."""
    return [sentence for wrong, sentence in _nested(settings) if wrong]


Cases = tuple[tuple[bool, str], ...]


def _names(settings: Settings, given: AbstractSet[str]) -> Cases:
    in_cluster = settings.peers.source is PeersFrom.KUBERNETES
    by_index = settings.peers.source is PeersFrom.DNS and settings.index is not None
    has_directory = settings.runtime is Runtime.V1 or settings.job_path is not None
    return (
        (
            "JOB_NAME" not in given and (in_cluster or by_index),
            "JOB_NAME is not set: expected the name of the Job that this pod belongs to",
        ),
        (
            "JOB_NAME" not in given and has_directory and not (in_cluster or by_index),
            "JOB_NAME is not set: expected the name of the job's directory under JOB_PATH",
        ),
        (
            "JOB_PATH" not in given and settings.runtime is Runtime.V1,
            "JOB_PATH is not set: expected the path where the shared volume is mounted",
        ),
        (
            "JOB_PATH" not in given and settings.config_dir is not None and not settings.config_dir.is_absolute(),
            "TRAIN_CONFIG_DIR is relative and JOB_PATH is not set: set JOB_PATH, or set an absolute path",
        ),
    )


def _roles(settings: Settings, given: AbstractSet[str]) -> Cases:
    peers = settings.peers
    one_group = peers.pservers == peers.trainers != ()
    by_index = peers.source is PeersFrom.DNS and settings.index is not None
    role = f"LAUNCHER_ROLE={settings.role}"
    return (
        (
            settings.separated and not settings.runtime.has_pservers,
            f"{role} with LAUNCHER_RUNTIME={settings.runtime}, which has no pservers: expected LAUNCHER_ROLE=node",
        ),
        (
            settings.separated and peers.source is PeersFrom.SELF,
            f"{role} with LAUNCHER_PEERS=self, where there is no other pod: expected LAUNCHER_ROLE=node",
        ),
        (
            settings.separated and one_group and not by_index,
            f"{role} with one group in LAUNCHER_PEERS: expected two, PSERVERS;TRAINERS",
        ),
        (
            not settings.separated and not given.isdisjoint({"TRAINERS", "PSERVERS"}),
            "TRAINERS and PSERVERS need LAUNCHER_ROLE=pserver or trainer: set it, or CONF_PADDLE_GRADIENT_NUM only",
        ),
        (
            not settings.separated and peers.pservers != peers.trainers,
            "LAUNCHER_PEERS names two groups: expected LAUNCHER_ROLE to be pserver or trainer",
        ),
    )


def _size(settings: Settings) -> Cases:
    given, needed = settings.timing.peer, math.ceil(settings.lap / LAP)
    return (
        (
            settings.lap > settings.timing.lap,
            f"{settings.members} pods cannot all poll their leader in time with LAUNCHER_PEER_TIMEOUT={given:g}: "
            f"expected at least {needed}, on every pod",
        ),
    )


def _width(settings: Settings) -> Cases:
    width, timing = settings.width, settings.timing
    if not width.elastic:
        return ()
    said = f"LAUNCHER_MEMBERS={width.least}:{width.most}"
    by_dns = settings.peers.source is PeersFrom.DNS
    by_index = by_dns and settings.index is not None
    no_index = " and no JOB_COMPLETION_INDEX" if by_dns else ""
    return (
        (
            settings.peers.source is not PeersFrom.KUBERNETES and not by_index,
            f"{said} with LAUNCHER_PEERS={settings.peers.source}{no_index}, which does not tell which pods there "
            "are: expected kubernetes, dns:NAME in an Indexed Job, or one number of members",
        ),
        (
            by_index and settings.role is not Role.PSERVER and not settings.job_uid,
            f"{said} with LAUNCHER_PEERS=dns and no LAUNCHER_JOB_UID, under which the record is kept: expected it "
            "from the downward API (metadata.labels['batch.kubernetes.io/controller-uid'])",
        ),
        (
            not settings.recorded,
            f"{said} and no record (JOB_PATH or LAUNCHER_RECORD): two halves of the gang could each be enough; "
            "expected a volume that all pods share, or one number of members",
        ),
        (
            width.of(width.most) < width.least,
            f"LAUNCHER_UNIT={width.unit} with {said}: expected a multiple of it from {width.least} to {width.most}",
        ),
        (
            width.shrink_after >= timing.rejoin,
            f"LAUNCHER_SHRINK_AFTER={width.shrink_after:g}: expected less than "
            f"LAUNCHER_REJOIN_TIMEOUT={timing.rejoin:g}",
        ),
    )


def _nested(settings: Settings) -> Cases:
    workdir, job_path, config_dir = settings.workdir, settings.job_path, settings.config_dir
    return (
        (
            config_dir is not None and workdir.is_relative_to(config_dir),
            f"LAUNCHER_WORKDIR={workdir} is in TRAIN_CONFIG_DIR={config_dir}, which is copied there: "
            "expected two separate directories",
        ),
        (
            job_path is not None and workdir.is_relative_to(job_path),
            f"LAUNCHER_WORKDIR={workdir} is on the volume at JOB_PATH, which all pods share: "
            "expected a directory that only this pod uses",
        ),
    )


def _paths(settings: Settings) -> Cases:
    job_dir = settings.job_dir
    return (
        *_nested(settings),
        (
            # Paddle 2.6.2 hands its save and load paths to bash unquoted.
            job_dir is not None and settings.runtime is Runtime.FLEET and not is_plain(str(job_dir)),
            f"JOB_PATH/JOB_NAME={str(job_dir)!r}: expected only letters, digits and _ . / - "
            "(Paddle would pass anything else to a shell)",
        ),
    )


def _ports(settings: Settings) -> Cases:
    taken = settings.ports.taken(settings.runtime, settings.processes or 1)
    name = "CONF_PADDLE_PORT" if settings.runtime.has_pservers else "LAUNCHER_PORTS"
    said = f"{name}={taken[0]} takes the ports {taken[0]} to {taken[-1]}"
    return (
        (taken[-1] > 65535, f"{said}: expected the last to be at most 65535"),
        (
            settings.status_port in taken,
            f"{said}, and LAUNCHER_STATUS_PORT={settings.status_port} is one of them: set another port",
        ),
    )


def _v1(settings: Settings) -> Cases:
    if settings.runtime is not Runtime.V1:
        return ()
    flags = dict(settings.flags.pairs)
    sparse = str(settings.ports.sparse)
    trains = settings.role is not Role.PSERVER
    return (
        *((name in flags, f"--{name} cannot be given as a flag: {remedy}") for name, remedy in V1_OWN.items()),
        (
            flags.get("ports_num_for_sparse", sparse) != sparse,
            f"--ports_num_for_sparse={flags.get('ports_num_for_sparse')}: expected {sparse}, as for the pserver "
            "(CONF_PADDLE_PORTS_NUM_SPARSE)",
        ),
        (
            settings.trainers > 1 and "local" in flags and (flags["local"] or "1").lower() in YES,
            f"--local makes each of {settings.trainers} trainers train by itself: expected --local=0",
        ),
        (
            trains and "config" not in flags,
            "--config is not given: expected --config=./trainer_config.py, or a command after `--`",
        ),
    )
