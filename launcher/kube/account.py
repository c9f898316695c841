"""The pod's own service account: the API's address, the token and the namespace.

The kubelet renews the token's file; it is read again each minute, and whenever the token is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kubernetes.client.configuration import Configuration
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import InClusterConfigLoader
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from launcher.contract import SERVICE_ACCOUNT
from launcher.kube import objects
from launcher.kube.refusals import Unusable

DIRECTORY = Path(SERVICE_ACCOUNT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A service account as it lies in its directory."""

    directory: Path
    configuration: Configuration
    loader: InClusterConfigLoader

    @classmethod
    def read(cls, directory: Path, environ: Mapping[str, str]) -> Account:
        """Return the account, or say why it cannot be used; nothing is sent."""
        loader = InClusterConfigLoader(  # type: ignore[no-untyped-call]  # the package has no annotations here
            token_filename=str(directory / "token"), cert_filename=str(directory / "ca.crt"), environ=environ
        )
        configuration = Configuration()
        configuration.retries = False  # the retries are tenacity's
        configuration.socket_options = tcp_keepalive_socket_options(idle=5, interval=2, count=3)
        account = cls(directory=directory, configuration=configuration, loader=loader)
        account.reload()
        return account

    def reload(self) -> None:
        """Read the token again, whatever its age."""
        try:
            self.loader.load_and_set(self.configuration)  # type: ignore[no-untyped-call]  # as above
        except (ConfigException, OSError, ValueError) as error:
            raise Unusable(f"the service account cannot be read: {objects.one_sentence(str(error))}") from error

    def namespace(self) -> str:
        """Return the pod's own namespace."""
        path = self.directory / "namespace"
        try:
            return path.read_text().strip()
        except (OSError, ValueError) as error:
            raise Unusable(f"{path} cannot be read") from error
