"""The pod's own service account: where the API is, what proves who asks, and in which namespace.

The kubelet renews the token's file; it is read again each minute, and whenever the token is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import InClusterConfigLoader
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from launcher.kube import pod_json
from launcher.pod.outcome import ApiError, SettingsError

DIRECTORY = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Trouble(Exception):
    """The API cannot serve at the moment; `after` is the number of seconds that it asks for."""

    def __init__(self, text: str, after: float = 0.0) -> None:
        super().__init__(text)
        self.after = after


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A service account as it lies in its directory."""

    directory: Path
    configuration: Configuration
    loader: InClusterConfigLoader

    @classmethod
    def read(cls, directory: Path, environ: Mapping[str, str]) -> Account:
        """Return the account, or say what a pod needs to have one; nothing is sent."""
        loader = InClusterConfigLoader(  # type: ignore[no-untyped-call]  # the package has no annotations here
            token_filename=str(directory / "token"), cert_filename=str(directory / "ca.crt"), environ=environ
        )
        configuration = Configuration()
        configuration.retries = False  # the retries are tenacity's
        configuration.socket_options = tcp_keepalive_socket_options(idle=5, interval=2, count=3)
        account = cls(directory=directory, configuration=configuration, loader=loader)
        try:
            account.reload()
        except Trouble as error:
            raise ApiError(
                f"{error} Expected a service account in {directory} (automountServiceAccountToken: true), "
                "or LAUNCHER_PEERS=dns:NAME, which needs none"
            ) from error
        return account

    def reload(self) -> None:
        """Read the token again, whatever its age."""
        try:
            self.loader.load_and_set(self.configuration)  # type: ignore[no-untyped-call]  # as above
        except (ConfigException, OSError, ValueError) as error:
            raise Trouble(f"the service account cannot be read: {said(error)}") from error

    def header(self) -> dict[str, str]:
        """Return the header that proves who asks."""
        try:
            token = self.configuration.get_api_key_with_prefix("BearerToken") or ""
        except (ConfigException, OSError, ValueError) as error:
            raise Trouble(f"the service account cannot be read: {said(error)}") from error
        # A line's end or another stray character would be refused with the token in the error's text.
        return {"Authorization": " ".join(token.split()).encode("ascii", "replace").decode()}

    def namespace(self) -> str:
        """Return the pod's own namespace."""
        try:
            return (self.directory / "namespace").read_text().strip()
        except (OSError, ValueError) as error:
            problem = f"JOB_NAMESPACE is not set: expected it, since {self.directory / 'namespace'} cannot be read"
            raise SettingsError([problem]) from error


def said(error: Exception) -> str:
    """Return an error's own words, without what differs from one time to the next."""
    text = error.reason if isinstance(error, ApiException) else str(error)
    return pod_json.sentence(re.sub(r" object at 0x[0-9a-f]+", "", str(text))) or type(error).__name__
