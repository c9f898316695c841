"""What all tests share: an environment without the launcher's variables, and skips that are told or forbidden."""

from __future__ import annotations

import itertools
import os
import signal
from collections import Counter, defaultdict
from collections.abc import Generator

import pytest
from hypothesis import settings

# Machines are noisy: no timed examples. Where a change is judged the examples are always the same, so that what they
# find is its own. Elsewhere they are new ones each time, and each that fails becomes an `@example`.
settings.register_profile("here", deadline=None, print_blob=True, derandomize="NO_SKIPS" in os.environ)
settings.load_profile("here")

# A shell without job control starts what it puts into the background with these ignored, which children inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
# So does nohup with this one. A handler, other than that, is not inherited: the programs under test heed a hangup.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
    """Say last of all how long each suite took, which did not run, or not whole, and what would make them run."""
    yield
    seconds: defaultdict[str, float] = defaultdict(float)
    for each in itertools.chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(each, pytest.TestReport):
            seconds[suite(each)] += each.duration
    terminalreporter.line(", ".join(f"{name} {number:.0f} s" for name, number in seconds.items()))
    skipped = [each for each in terminalreporter.stats.get("skipped", ()) if isinstance(each.longrepr, tuple)]
    ran = {suite(each) for each in terminalreporter.stats.get("passed", ())}
    reasons = Counter((suite(each), each.longrepr[2].removeprefix("Skipped: ")) for each in skipped)
    if reasons:
        terminalreporter.section("what did not run, and why")
    for (name, reason), number in sorted(reasons.items()):
        which = f"{number} of {name}" if name in ran else f"{name}, {number} tests"
        terminalreporter.line(f"{which}: {reason}")


def suite(report: pytest.TestReport) -> str:
    """Return the suite of a test, such as tests/unit."""
    return "/".join(report.nodeid.split("/")[:2])
