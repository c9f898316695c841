#!/bin/sh
# Runs inside `docker build`: makes /opt/launcher, a virtual environment for the launcher alone, from dist/.
set -eu

# What the launcher imports, and what that imports; requirements.lock says which versions, and their hashes. Not among
# them: what only kubernetes.aio needs, and time zones, which no code asks for.
PACKAGES="annotated-types certifi charset-normalizer durationpy h11 idna kubernetes oauthlib prometheus-client psutil
    pydantic pydantic-core python-dateutil pyyaml requests requests-oauthlib structlog tenacity typing-extensions
    typing-inspection urllib3 websocket-client"
HOME_OF_IT=/opt/launcher

refuse() {
    echo "docker build: $*" >&2
    exit 1
}

find_python() {
    for python in ${PYTHON:-python3 python python3.14 python3.13 python3.12 python3.11}; do
        "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return
    done
    refuse "the image BASE has no Python 3.11 or newer with its venv module: choose another BASE, or install one beside" \
        "what is there (on Debian: apt-get install python3 python3-venv; any name on PATH will do, or say" \
        "--build-arg PYTHON=/path/to/python3.11). The training program's own Python may be of any version."
}

# Prints the entries of requirements.lock for the packages named.
locked() {
    awk -v wanted=" $* " '/^[a-z]/ { split($0, word, "=="); keep = index(wanted, " " word[1] " ") } keep' \
        dist/requirements.lock
}

install_packages() {
    "$python" -m venv tools
    "$python" -m venv --without-pip "$HOME_OF_IT"
    # shellcheck disable=SC2086  # they are words
    locked $PACKAGES >runtime.lock
    locked setuptools >build.lock
    export PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
    tools/bin/pip install --require-hashes -r build.lock
    tools/bin/pip wheel --no-deps --no-build-isolation --wheel-dir wheel ./dist
    tools/bin/pip --python "$HOME_OF_IT/bin/python" install --no-compile --no-deps --require-hashes -r runtime.lock
    tools/bin/pip --python "$HOME_OF_IT/bin/python" install --no-compile --no-deps wheel/*.whl
}

# The client's asynchronous twin, its calls and its models are 100 of its 105 MB; it loads them when they are asked
# for, and the launcher never asks.
leave_out() {
    kubernetes=$(echo "$HOME_OF_IT"/lib/python3*/site-packages/kubernetes)
    rm -rf "$kubernetes/aio" "$kubernetes/client/api"
    find "$kubernetes/client/models" -type f ! -name '__init__.*' -delete
    find "$kubernetes" -name '*_test.*' -delete
    "$HOME_OF_IT/bin/python" -I -m compileall -q "$HOME_OF_IT/lib"
}

# A PYTHONPATH in a manifest is the training program's: -I keeps it away from the launcher.
isolate() {
    sed -i '1s|$| -I|' "$HOME_OF_IT/bin/start_paddle"
}

prove() {
    "$HOME_OF_IT/bin/start_paddle" --version
    "$HOME_OF_IT/bin/python" -I -c '
import re
from importlib.metadata import requires, version
import launcher.pod.peers.from_dns, launcher.pod.peers.from_api, launcher.pod.programs.launch, launcher.pod.data.stage
for each in requires("paddle-launcher"):
    "extra ==" in each or version(re.match(r"[\w.-]+", each)[0])
'
}

cd "$(dirname -- "$0")"
[ -d dist/launcher ] || refuse "docker/dist is empty: type ../tools/build_docker.sh --prepare and docker build again," \
    "or, in place of both, ../tools/build_docker.sh BASE IMAGE"
find_python
install_packages
leave_out
isolate
prove
chmod 0755 start.sh start_paddle.py
