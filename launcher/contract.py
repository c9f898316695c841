"""What rooms, images and users must agree on, each written once: codes, words, ports, labels, names of files.

No I/O here. Python 3.8, and no import: training programs, the pod and the desk all read it. `launcher.here` alone
does not, since it may be copied by itself: a test compares the names and limits that it has with these and a pod's.
"""

from __future__ import annotations


class Code:
    """Exit codes that are the launcher's own; a child's own code, or 128+n, comes through as it is."""

    DONE = 0
    DATA = 65  # wrong data, a cost that is no number, a torn pass: no restart helps
    API = 69
    BUG = 70
    CANNOT_START = 71
    SHARD = 74  # files could not be staged, written or read
    JOIN = 75  # the peers did not come in time; of a training program: the launcher ended its generation
    GANG = 76
    SETTINGS = 78


NO_RESTART = frozenset(
    {Code.DATA, Code.API, Code.BUG, Code.CANNOT_START, Code.SHARD, Code.SETTINGS}
)  # it would not help

# The part a pod plays: LAUNCHER_ROLE, statuses, events, labels, the names of Jobs.
NODE, PSERVER, TRAINER = "node", "pserver", "trainer"
ROLES = (NODE, PSERVER, TRAINER)

# How far a pod has come, in statuses, events and metrics.
JOINING, STAGING, SERVING, TRAINING, TRAINED = "joining", "staging", "serving", "training", "trained"
DONE, FAILED, STOPPED = "done", "failed", "stopped"
PHASES = frozenset([JOINING, STAGING, SERVING, TRAINING, TRAINED, DONE, FAILED, STOPPED])
# How far a generation has come, by its leader's word; two of its stages are called as a pod's phases are.
GATHERING, READYING, LEAVING, CHECKING, OVER = "gathering", "readying", "leaving", "checking", "over"


class Alarmed:
    """What is found out about a training that goes on: in statuses, events and metrics."""

    STALLED, NO_STEP, TIMED_OUT, NOT_A_NUMBER, SLOW = "stalled", "no_step", "timed_out", "not_a_number", "slow"


class Spent:
    """What the seconds of a member were, in its ledger.

    Those of a training are open until it is known whether a later start goes on after them (kept) or before them
    (lost). What nobody counted is unknown.
    """

    WAITING, STAGING, STARTING, SAVING, BARRIER = "waiting", "staging", "starting", "saving", "barrier"
    OPEN, KEPT, LOST, LEAVING, UNKNOWN = "training", "kept", "lost", "leaving", "unknown"
    GOOD = (OPEN, KEPT)  # training that is not known to be lost


STATUS_PORT = 7170  # probes, NetworkPolicies and the desk ask it
MEETING_PORT = 12400  # the first, where programs without pservers meet; ephemeral ports are above it
MEETING_TURNS = 6  # one for each generation, in turn
MOST_PROCESSES = 128  # of one pod
PSERVER_PORT = 7164  # the first of a pserver's, as in every start_paddle before this one

# Where the launcher is: in its images, and in a pod of any other image into which it was brought.
HOME, BROUGHT = "/opt/launcher", "/launcher"
PACKAGE_MOUNT = "/package"  # where a package is that goes with its job
IDENTITY_FILES = ("trainer_id", "trainer_count")  # in a pod's /
LIST_FILES = ("train.list", "test.list")  # there too: which files are this trainer's
USER = 10001  # any number but 0 does: the image needs no such user

# Labels and annotations. What finds peers has the names that older manifests have.
NAME = "paddle-launcher"
MANAGED_BY = "app.kubernetes.io/managed-by"
JOB_LABEL = f"{NAME}/job"
REGISTRY_LABEL = f"{NAME}/registry"
FILES_LABEL = f"{NAME}/files"
DOCTOR_LABEL = f"{NAME}/doctor"
SPEC_ANNOTATION = f"{NAME}/spec"  # what was asked for, on a job's first Job
KILLED_ANNOTATION = f"{NAME}/killed"  # on Jobs that `kill` has suspended
SERVER_ANNOTATION, USERNAME_ANNOTATION = f"{NAME}/server", f"{NAME}/username"  # of a registry's Secret
NODES_LABEL = "job-name"  # Kubernetes gives it to a Job's pods
PSERVERS_LABEL, TRAINERS_LABEL = "paddle-job-pserver", "paddle-job"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"

PASSES = "PADDLE_INIT_NUM_PASSES"  # how many passes a program is to make

# In the job's directory on the volume.
DATA = "data"  # a rank's shard: <rank>/data, or data/<rank>
MANIFEST = "manifest.json"
OUTPUT = "output"
# In the output.
TRAIN_LOG, SERVER_LOG, TRACKER_LOG = "train.log", "server.log", "tracker.log"
EVENTS = "events.jsonl"
NODE_PREFIX, PASS_PREFIX, RUN_PREFIX = "node_", "pass-", "run-"
DONE_FILE = "done"  # in a pass, written last
# The gang's record.
RECORD = ".launcher"
NOW, VERDICT = "now", "verdict.json"
SPARE = "verdict.spare"  # the verdict's room
COUNTERS = (
    "counter-0",
    "counter-1",
)  # moved while programs of the run may run: by its leader, and by the second member
REST = "rest"  # the generation of which none runs any more
RUN = "run-number"  # the number of this record's run
STACKS = "looks"  # a directory: where the programs stood, a file for each look and program
NODE_FAILURES = "nodes.jsonl"  # beside the runs of a name: what failed on which node
# The pod's own, as the kubelet mounts it.
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"

# Letters that a path may have where bash reads it, too: Paddle 2.6.2 gives its save and load paths to bash unquoted.
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-")


def is_plain(path: str) -> bool:
    """Return whether a path means the same to a shell as to the kernel."""
    return bool(path) and _PLAIN.issuperset(path)


def own_python(*, brought: bool = False) -> str:
    """Return the launcher's own Python in a pod: its image's, or where it was brought into any other image."""
    return f"{BROUGHT if brought else HOME}/bin/python"


def job_of(job: str, role: str) -> str:
    """Return the name of a role's Job where pservers and trainers are Jobs of their own."""
    return f"{job}-{role}"


def node_directory(rank: int) -> str:
    """Return the directory of a rank's logs, in the output."""
    return f"{NODE_PREFIX}{rank}"


def trainer_log(local: int) -> str:
    """Return the log of one of a pod's trainers, by its number in the pod."""
    return f"train-{local}.log" if local else TRAIN_LOG


def pass_directory(number: int) -> str:
    """Return the directory of a pass, in the output."""
    return f"{PASS_PREFIX}{number:05}"


def runs_directory(job: str) -> str:
    """Return the directory of a job's runs, beside the records of them; no key has a dot."""
    return f"{job}.runs"


def run_file(number: int) -> str:
    """Return the file of a run, in that directory."""
    return f"run-{number}.json"


def stacks_file(generation: int, look: int, role: str, rank: int) -> str:
    """Return the file of a program's stacks, in the directory for them."""
    return f"{generation}-{look}-{role}-{rank}.txt"


def look_socket(address: str, port: int) -> str:
    """Return the abstract socket at which a pod asks its launcher for a look, by POD_IP and the status port."""
    return f"{NAME}-look.{address}.{port}"


def generation_file(number: int) -> str:
    """Return the file of a generation, in the record."""
    return f"gen-{number}.json"


def stop_file(number: int) -> str:
    """Return the file that says that a launcher was told to stop in a generation, in the record."""
    return f"stop-{number}"
