"""What each framework reads to find its rank and its peers: a row for each runtime, a function for each variable.

No I/O here. Who reads a variable is named beside it; docs/contracts.md lists the same names, held by a test. A gang
meets at another port in each generation, so that a program left over from one meets none of the next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from launcher.pod.programs.plan import endpoint
from launcher.pod.settings.nouns import TURNS, Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a program stands in one generation of its gang: what every variable is made of."""

    node: int  # the number of its pod
    local: int  # its own number in the pod
    processes: int  # in each pod
    addresses: tuple[str, ...]  # of all pods, by number
    port: int  # where this generation meets: the first of one for each program of a pod
    interface: str  # nothing where nobody said
    devices: int  # that this pod sees
    run: str
    generation: int
    restarts: int
    error_file: str  # where a program may say why it failed

    @property
    def rank(self) -> int:
        """Its number among all programs."""
        return self.node * self.processes + self.local

    @property
    def nodes(self) -> int:
        """How many pods there are."""
        return len(self.addresses)

    @property
    def size(self) -> int:
        """How many programs there are."""
        return self.nodes * self.processes

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Where each program may listen, by rank."""
        ports = range(self.port, self.port + self.processes)
        return tuple(endpoint(address, port) for address in self.addresses for port in ports)

    @property
    def own_devices(self) -> range:
        """The numbers of its part of the pod's devices."""
        begin, end = (each * self.devices // self.processes for each in (self.local, self.local + 1))
        return range(begin, end)


ERROR_FILE = "TORCHELASTIC_ERROR_FILE"

_Variable = Callable[[Place], object]  # None: it is not set


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A row: what is set in any case, what is set where the pod's manifest does not, and which ports a program opens.

    `tracked`: a tracker beside the first of them opens the port instead. `files` are written where a program runs.
    """

    set: Mapping[str, _Variable]
    unless_given: Mapping[str, _Variable] = field(default_factory=dict)
    ports: Callable[[Place], tuple[int, ...]] = lambda at: () if at.rank else (at.port,)
    tracked: bool = False
    files: Mapping[str, _Variable] = field(default_factory=dict)

    def variables(self, place: Place) -> dict[str, str]:
        """Return what is set in any case."""
        return _texts(self.set, place)

    def defaults(self, place: Place) -> dict[str, str]:
        """Return what is set where the pod's manifest does not."""
        return _texts(self.unless_given, place)

    def written(self, place: Place) -> dict[str, str]:
        """Return the files, by their names."""
        return _texts(self.files, place)


def _texts(variables: Mapping[str, _Variable], place: Place) -> dict[str, str]:
    found = {name: variable(place) for name, variable in variables.items()}
    return {name: str(value) for name, value in found.items() if value is not None}


# Any program like torch's: the six that `env` has always had.
_RANKS: Mapping[str, _Variable] = {
    "RANK": lambda at: at.rank,
    "WORLD_SIZE": lambda at: at.size,
    "LOCAL_RANK": lambda at: at.local,
    "LOCAL_WORLD_SIZE": lambda at: at.processes,
    "MASTER_ADDR": lambda at: at.addresses[0],
    "MASTER_PORT": lambda at: at.port,
}

# torch/distributed/elastic/agent/server/local_elastic_agent.py sets these for a worker, and programs read them there.
# Not TORCHELASTIC_USE_AGENT_STORE: with it, rank 0 would open no store.
_TORCHELASTIC: Mapping[str, _Variable] = {
    "GROUP_RANK": lambda at: at.node,
    "GROUP_WORLD_SIZE": lambda at: at.nodes,
    "NODE_RANK": lambda at: at.node,
    "ROLE_NAME": lambda _: "default",
    "ROLE_RANK": lambda at: at.rank,
    "ROLE_WORLD_SIZE": lambda at: at.size,
    "TORCHELASTIC_RUN_ID": lambda at: at.run,
    "TORCHELASTIC_RESTART_COUNT": lambda at: at.generation - 1,
    "TORCHELASTIC_MAX_RESTARTS": lambda at: at.restarts,
    ERROR_FILE: lambda at: at.error_file,
}

# For programs that choose their device by it, where their framework has no name of its own for it.
_LOCAL: Mapping[str, _Variable] = {
    "LOCAL_RANK": lambda at: at.local if at.processes > 1 else None,
    "LOCAL_WORLD_SIZE": lambda at: at.processes if at.processes > 1 else None,
}

# Which network NCCL and gloo take; by themselves they may choose one that reaches no other pod.
_INTERFACES: Mapping[str, _Variable] = {
    "NCCL_SOCKET_IFNAME": lambda at: at.interface or None,
    "GLOO_SOCKET_IFNAME": lambda at: at.interface or None,
}
_NCCL: Mapping[str, _Variable] = {"NCCL_SOCKET_IFNAME": _INTERFACES["NCCL_SOCKET_IFNAME"]}

# gRPC reads this before no_proxy: a gang is never behind a proxy, whatever else is.
_NO_PROXY: Mapping[str, _Variable] = {"no_grpc_proxy": lambda at: ",".join(at.addresses)}

_JAX: Mapping[str, _Variable] = {
    # jax/_src/distributed.py reads these two, and the devices that belong to a process.
    "JAX_COORDINATOR_ADDRESS": lambda at: at.endpoints[0],
    "JAX_COORDINATOR_BIND_ADDRESS": lambda at: at.endpoints[0],
    "JAX_LOCAL_DEVICE_IDS": lambda at: ",".join(map(str, at.own_devices)) if at.devices > 1 else None,
    # The number of processes and their ranks it takes from a cluster that it knows, as
    # jax/_src/clusters/slurm_cluster.py, which it asks before Kubernetes: there it would want rights at the API.
    "SLURM_JOB_ID": lambda at: at.generation,
    "SLURM_STEP_NODELIST": lambda at: ",".join(at.addresses),
    "SLURM_NTASKS": lambda at: at.size,
    "SLURM_PROCID": lambda at: at.rank,
    "SLURM_LOCALID": lambda at: at.local,
    # Not read by jax: by programs that give them to `initialize` themselves.
    "JAX_NUM_PROCESSES": lambda at: at.size,
    "JAX_PROCESS_ID": lambda at: at.rank,
}

_PADDLE: Mapping[str, _Variable] = {
    # python/paddle/distributed/parallel.py
    "PADDLE_TRAINER_ID": lambda at: at.rank,
    "PADDLE_TRAINERS_NUM": lambda at: at.size,
    "PADDLE_TRAINER_ENDPOINTS": lambda at: ",".join(at.endpoints),
    "PADDLE_CURRENT_ENDPOINT": lambda at: at.endpoints[at.rank],
    "PADDLE_RANK_IN_NODE": lambda at: at.local,
    "PADDLE_LOCAL_SIZE": lambda at: at.processes,
    "FLAGS_selected_gpus": lambda at: at.local if at.devices else None,
    # Where its store is: 3.x takes the first, else the first of the endpoints, 2.6 the other two. All are one place.
    "PADDLE_MASTER": lambda at: at.endpoints[0],
    "MASTER_ADDR": lambda at: at.addresses[0],
    "MASTER_PORT": lambda at: at.port,
}


def _machines(at: Place) -> tuple[tuple[str, int], ...]:
    """Return each program's address and port.

    LightGBM finds itself in the list by the addresses of the machine's interfaces, of which loopback has one, and
    TensorFlow's server listens at all addresses: several pods on one machine differ by their ports.
    """
    apart = at.addresses[0].startswith("127.")
    pods = [
        ("127.0.0.1", at.port + TURNS * at.processes * node) if apart else (address, at.port)
        for node, address in enumerate(at.addresses)
    ]
    return tuple((address, port + local) for address, port in pods for local in range(at.processes))


FRAMEWORKS: Mapping[Runtime, Framework] = {
    Runtime.ENV: Framework(set=_RANKS),
    Runtime.TORCH: Framework(
        set={**_RANKS, **_TORCHELASTIC},
        # As torchrun: several programs that each take all cores are slower than one.
        unless_given={**_INTERFACES, "OMP_NUM_THREADS": lambda at: 1 if at.processes > 1 else None},
    ),
    Runtime.JAX: Framework(set=_JAX, unless_given={**_NO_PROXY, **_NCCL}),
    Runtime.PADDLE: Framework(
        set=_PADDLE,
        unless_given={
            **_INTERFACES,
            # Without a card it must be named: "The global group is not initialized".
            "PADDLE_DISTRI_BACKEND": lambda at: None if at.devices else "gloo",
        },
    ),
    Runtime.TENSORFLOW: Framework(
        # TFConfigClusterResolver
        set={
            "TF_CONFIG": lambda at: json.dumps(
                {
                    "cluster": {"worker": [endpoint(*each) for each in _machines(at)]},
                    "task": {"type": "worker", "index": at.rank},
                }
            ),
            **_LOCAL,
        },
        unless_given={"no_grpc_proxy": lambda at: ",".join(dict(_machines(at))), **_NCCL},
        ports=lambda at: (_machines(at)[at.rank][1],),
    ),
    Runtime.XGBOOST: Framework(
        # Not read by XGBoost since 2.0: a program gives `here.xgboost()` to its CommunicatorContext.
        set={
            "DMLC_TRACKER_URI": lambda at: at.addresses[0],
            "DMLC_TRACKER_PORT": lambda at: at.port,
            "DMLC_TASK_ID": lambda at: f"{at.rank:06}",  # the tracker sorts them as text
            "DMLC_NUM_WORKER": lambda at: at.size,
            **_LOCAL,
        },
        unless_given=_NCCL,
        ports=lambda _: (),
        tracked=True,
    ),
    Runtime.LIGHTGBM: Framework(
        # Not read by LightGBM: a program gives them to it, as `machines`, `local_listen_port` and `num_machines`.
        set={
            "LIGHTGBM_MACHINES": lambda at: ",".join(f"{address}:{port}" for address, port in _machines(at)),
            "LIGHTGBM_LISTEN_PORT": lambda at: _machines(at)[at.rank][1],
            "LIGHTGBM_NUM_MACHINES": lambda at: at.size,
            **_LOCAL,
        },
        ports=lambda at: (_machines(at)[at.rank][1],),
        # For its command line: `machine_list_filename=machines.txt`. Once in a pod: the next would empty it under the
        # first one's eyes.
        files={
            "machines.txt": lambda at: (
                None if at.local else "".join(f"{address} {port}\n" for address, port in _machines(at))
            )
        },
    ),
}
