"""A real Kubernetes on one machine with root, without a registry."""

from tests.cluster.ground.fault import Broken, NoGround
from tests.cluster.ground.ground import Ground

__all__ = ["Broken", "Ground", "NoGround"]
