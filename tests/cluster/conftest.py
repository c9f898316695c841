"""The cluster that all tests here share, a namespace for each of them, and everything told of one that failed."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, chosen
from tests.cluster.ground import Ground, NoGround, images
from tests.cluster.kubectl import Kubectl, KubectlFailed
from tests.cluster.telling import everything
from tests.conftest import GIVEN
from tests.support.waiting import wait_until

HERE = Path(__file__).parent
FIRST = "test_clearing.py"  # it starts grounds of its own, and there is one at a time on a machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Count a test's own time only, not the cluster's building and starting; put those that need no other first."""
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.timeout(300, func_only=True))
    places = [place for place, item in enumerate(items) if item in ours]
    for place, item in zip(places, sorted(ours, key=lambda item: item.path.name != FIRST), strict=True):
        items[place] = item


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[None],  # noqa: ARG001  # the hook's own signature
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure's report all that the cluster knows of the test's namespace."""
    report = yield
    namespace = getattr(item, "funcargs", {}).get("namespace")
    if report.failed and isinstance(namespace, Kubectl):
        report.sections.append((f"namespace {namespace.namespace}", everything(namespace)))
    return report


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The cluster that the environment asks for; where none can be had, skips that say what is missing."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def tell(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", flush=True)

    try:
        choice = chosen(GIVEN, tell)
        found = choice.__enter__()
    except NoGround as fault:
        pytest.skip(str(fault))
    try:
        yield found
    finally:
        choice.__exit__(None, None, None)


@pytest.fixture(scope="session")
def ground(cluster: Cluster) -> Ground:
    """The ground, for tests that stop nodes or servers."""
    if not cluster.grounds:
        pytest.skip("the cluster is not ours to break: unset LAUNCHER_TEST_KUBECONFIG, or take kind off PATH")
    return cluster.grounds[0]


@pytest.fixture(scope="session")
def box(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of an image with a shell and a few tools, there on every node."""
    try:
        cluster.load_image(images.box(tmp_path_factory.mktemp("box") / "box.tar"))
    except NoGround as fault:
        pytest.skip(str(fault))
    return images.BOX


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[Kubectl]:
    """The kubectl of a namespace that is this test's own."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    kubectl = cluster.kubectl.within(name)
    wait_until(lambda: has_account(kubectl), timeout=30, every=0.05)
    yield kubectl
    cluster.kubectl("delete", "namespace", name, "--wait=false")
    # Pods of a namespace that ends are given their whole grace; the next test wants their ports and nodes now.
    kubectl("delete", "pods", "--all", "--grace-period=1", "--timeout=60s", timeout=90)


def has_account(kubectl: Kubectl) -> bool:
    """Return whether pods can be made: they need the default ServiceAccount, which comes a moment after."""
    try:
        return bool(kubectl("get", "serviceaccount", "default", "--output", "name"))
    except KubectlFailed:
        return False
