"""Who asks the API server: a datacenter's token, or a context of the kubeconfig. No message shows what is secret."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubernetes.client.configuration import Configuration
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from launcher.desk.config.datacenters import Datacenter
from launcher.desk.errors import Problem
from launcher.kube import refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Where the API server is and who asks it, what to call that, and the namespace that goes with it."""

    configuration: Configuration = field(repr=False)
    who: str
    namespace: str


def credentials(datacenter: Datacenter, environ: Mapping[str, str]) -> Credentials:
    """Return those of a datacenter, or of the kubeconfig's context; nothing is sent."""
    configuration = Configuration()
    configuration.retries = False
    configuration.connection_pool_maxsize = 1000  # a log is followed on a connection of its own
    if datacenter.endpoint:
        configuration.host = datacenter.endpoint
        configuration.ssl_ca_cert = _authority(datacenter)
        configuration.api_key["BearerToken"] = f"Bearer {datacenter.password}"
        own, who = "", f"datacenter {datacenter.name!r}"
    else:
        own, who = _kubeconfig(configuration, datacenter, environ)
    return Credentials(configuration=configuration, who=who, namespace=datacenter.namespace or own or "default")


def _authority(datacenter: Datacenter) -> str | None:
    if not datacenter.authority:
        return None
    path = _at_home(datacenter.authority)
    if not path.is_file():
        raise Problem(
            f"certificate-authority: {path} is not there: expected the PEM file of the API server's authority"
        )
    return str(path)


def _at_home(path: str) -> Path:
    """Return a path with ~ as what it stands for; a user who is not there leaves it as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # pathlib's raises then


def _kubeconfig(configuration: Configuration, datacenter: Datacenter, environ: Mapping[str, str]) -> tuple[str, str]:
    """Enter a context's credentials, and return its namespace and what to call it."""
    files = environ.get("KUBECONFIG") or str(_at_home("~/.kube/config"))
    if not any(_at_home(each).is_file() for each in files.split(os.pathsep) if each):
        raise Problem(f"no cluster is known: expected a datacenter in ~/.paddle/config, or a kubeconfig at {files}")
    failures: list[str] = []
    logging.getLogger().addHandler(_Kept(failures))  # an exec plugin's failure is logged there alone
    try:
        merged = KubeConfigMerger(files).config  # type: ignore[no-untyped-call]  # the package has no annotations here
        loader = KubeConfigLoader(merged, active_context=datacenter.context or None, config_base_path=None)  # type: ignore[no-untyped-call]
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
        context = loader.current_context
    except (ConfigException, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        why = refusals.broken(str(error))
        raise Problem(f"the kubeconfig {files} cannot be used: {why}; `kubectl config view` shows it") from None
    except Exception as error:
        if type(error).__module__.startswith("yaml"):  # its own words quote the file
            raise Problem(f"the kubeconfig {files} is not YAML") from None
        raise
    finally:
        logging.getLogger().handlers = [each for each in logging.getLogger().handlers if not isinstance(each, _Kept)]
    if failures:
        raise Problem(f"the kubeconfig {files} names a program for the token, and that failed: {failures[0][:300]}")
    name = str(context.get("name", ""))
    return str(context["context"].get("namespace") or ""), f"context {name!r} of the kubeconfig"


class _Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, kept: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self._kept.append(" ".join(record.getMessage().split()))
