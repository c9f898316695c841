"""A real Kubernetes on one machine with root, without a registry."""

from tests.grounds.cluster.fault import Broken, NoGround
from tests.grounds.cluster.ground import Ground

__all__ = ["Broken", "Ground", "NoGround"]
