"""One authority for a ground's whole life, and everybody's credentials. Nothing of it outlives the ground."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

import trustme

SERVER = "https://172.31.255.1:6443"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Signs for everybody."""

    ca: trustme.CA

    @classmethod
    def made(cls) -> Authority:
        """Return a new authority."""
        return cls(ca=trustme.CA())

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, as PEM."""
        return self.ca.cert_pem.bytes()

    def issue(self, user: str, *identities: str, group: str = "ground") -> Credential:
        """Return a credential for a user of the API, or for a server with these addresses and names."""
        # Without any name trustme marks an empty list of them critical, and Go refuses that.
        issued = self.ca.issue_cert(
            *(identities or ("client.ground.test",)), common_name=user, organization_name=group
        )
        return Credential(certificate=issued.cert_chain_pems[0].bytes(), key=issued.private_key_pem.bytes())

    def kubeconfig(self, user: str, *, group: str = "ground", server: str = SERVER) -> str:
        """Return the text of a kubeconfig that carries its credential in itself."""
        credential = self.issue(user, group=group)
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "ground",
                "contexts": [{"name": "ground", "context": {"cluster": "ground", "user": user}}],
                "clusters": [
                    {
                        "name": "ground",
                        "cluster": {"server": server, "certificate-authority-data": encoded(self.certificate)},
                    }
                ],
                "users": [
                    {
                        "name": user,
                        "user": {
                            "client-certificate-data": encoded(credential.certificate),
                            "client-key-data": encoded(credential.key),
                        },
                    }
                ],
            },
            indent=1,
        )


def encoded(data: bytes) -> str:
    """Return bytes as a kubeconfig carries them."""
    return base64.b64encode(data).decode()
