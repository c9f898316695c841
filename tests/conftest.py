"""What all tests share: an environment without the launcher's variables, and skips that can be forbidden."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

settings.register_profile("here", deadline=None, print_blob=True)  # machines are noisy: no timed examples
settings.load_profile("here")

OURS = ("LAUNCHER_", "CONF_PADDLE_", "JOB_", "KUBERNETES_")
# Kept for tests/cluster, which look for LAUNCHER_TEST_KUBECONFIG; a launcher would refuse to know it.
GIVEN = {name: os.environ.pop(name) for name in tuple(os.environ) if name.startswith(OURS)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[None],  # noqa: ARG001  # the hook's own signature
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where NO_SKIPS is set: in CI everything can be had."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and NO_SKIPS is set: {report.longrepr}"
    return report
