"""The cluster that all tests here share, a namespace for each of them, and everything told of one that failed."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, chosen
from tests.cluster.kubectl import Kubectl
from tests.cluster.namespaces import emptied, own
from tests.cluster.telling import everything
from tests.cluster.volumes import SEEDS_VOLUME, Training, Volume, claimed_by, volume_at
from tests.conftest import GIVEN
from tests.grounds.cluster import Ground, NoGround
from tests.grounds.cluster import images as made
from tests.grounds.docker import NotHere, image_tar, paddle_tar

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
    """Add to a failure's report all that the cluster knows of the test's namespaces."""
    report = yield
    if report.failed:
        for kubectl in kubectls(getattr(item, "funcargs", {}).values()):
            report.sections.append((f"namespace {kubectl.namespace}", everything(kubectl)))
    return report


def kubectls(given: Iterable[object]) -> set[Kubectl]:
    """Return the namespaces that a test was given."""
    own = {each for each in given if isinstance(each, Kubectl)}
    return own | {each.kubectl for each in given if isinstance(each, Training)}


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
        cluster.load_image(made.box(tmp_path_factory.mktemp("box") / "box.tar"))
    except NoGround as fault:
        pytest.skip(str(fault))
    return made.BOX


@pytest.fixture(scope="session")
def images(cluster: Cluster) -> None:
    """The project's images, on every node."""
    try:
        cluster.load_image(image_tar())
    except (NoGround, NotHere) as fault:
        pytest.skip(str(fault))


@pytest.fixture(scope="session")
def with_paddle(cluster: Cluster) -> None:
    """The images that have Paddle, on every node."""
    try:
        cluster.load_image(paddle_tar())
    except (NoGround, NotHere) as fault:
        pytest.skip(str(fault))


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[Kubectl]:
    """The kubectl of a namespace that is this test's own."""
    with own(cluster.kubectl) as kubectl:
        yield kubectl


@pytest.fixture
def default(cluster: Cluster) -> Iterator[Kubectl]:
    """The namespace `default`, which the seeds' JOB_NAMESPACE names."""
    kubectl = cluster.kubectl.within("default")
    yield kubectl
    emptied(kubectl)


@pytest.fixture
def claimed(namespace: Kubectl, tmp_path: Path) -> Iterator[Volume]:
    """A volume behind the claim `mfs` of the test's own namespace."""
    with claimed_by(namespace, "mfs", tmp_path) as volume:
        yield volume


@pytest.fixture
def seeds_volume() -> Iterator[Volume]:
    """The directory that the seed's hostPath names."""
    with volume_at(SEEDS_VOLUME) as volume:
        volume.furnish()
        yield volume
