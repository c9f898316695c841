"""Controllers that others make, as plain processes beside the ground's API server: Kueue and JobSet."""

from tests.grounds.controllers.controller import Controller, beside
from tests.grounds.controllers.known import JOBSET, KUEUE

__all__ = ["JOBSET", "KUEUE", "Controller", "beside"]
