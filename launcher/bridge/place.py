"""The names that `launcher.bridge.fleet_role` had in version 0.1.0, whose examples stand on users' volumes."""

from launcher.bridge.fleet_role import FleetRole as Place
from launcher.bridge.fleet_role import fleet_role as place_of

__all__ = ["Place", "place_of"]
