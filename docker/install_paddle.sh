#!/bin/sh
# Runs inside `docker build`, in two steps: `packages` makes /opt/paddle, a virtual environment with Paddle for the
# training program; `bridge` adds what such a program asks of the launcher, and trains with it.
set -eu

HOME_OF_IT=/opt/paddle

refuse() {
    echo "docker build: $*" >&2
    exit 1
}

find_python() {
    for python in ${PYTHON:-python3.11 python3 python}; do
        "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null && return
    done
    refuse "the image BASE has no Python 3.11 with its venv module, for which paddle.lock names the packages: choose" \
        "another BASE, such as python:3.11-slim-bookworm, or say --build-arg PYTHON=/path/to/python3.11"
}

install_packages() {
    "$python" -m venv tools
    "$python" -m venv --without-pip "$HOME_OF_IT"
    export PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
    tools/bin/pip --python "$HOME_OF_IT/bin/python" install --no-compile --no-deps --require-hashes -r paddle.lock
    # It prints a version and exits 0, whatever is asked of it.
    rm "$HOME_OF_IT/bin/paddle"
}

# The wheel has all of its libraries but this one, and looks for it among its own as well.
bring_openmp() {
    openmp || { apt-get -qq update && apt-get -qq install --yes --no-install-recommends libgomp1 >/dev/null; } ||
        refuse "the image BASE has no libgomp.so.1, which Paddle needs, and apt-get cannot bring it: choose a BASE that" \
            "has it (Debian's package libgomp1)"
    cp -L "$(openmp)" "$(site)/paddle/libs/"
}

openmp() {
    ldconfig -p | awk '$1 == "libgomp.so.1" { print $NF; found = 1; exit } END { exit !found }'
}

site() {
    echo "$HOME_OF_IT"/lib/python3*/site-packages
}

# Headers to build operators with, and the packages' own tests.
leave_out() {
    rm -rf "$(site)/paddle/include"
    find "$(site)" -type d -name tests -prune -exec rm -rf {} +
}

# No more of the launcher: its own packages stay its own.
add_bridge() {
    mkdir "$(site)/launcher"
    for part in __init__.py contract.py here.py text.py bridge dataset job; do
        cp -r "launcher/$part" "$(site)/launcher/"
    done
    ln -s "$(site)/launcher/bridge/bin/paddle" "$HOME_OF_IT/bin/paddle"
    chmod 0755 "$HOME_OF_IT/bin/paddle"
}

# What Python compiles on the way stays: a training loads a third of what is installed, and the rest is never compiled.
prove() {
    PATH="$HOME_OF_IT/bin:$PATH"
    paddle version
    python recommendation/make_data.py job --layout=here --ratings=2000 --users=100 --movies=100
    python -c 'import paddle.distributed.fleet'
    cd job && python ../recommendation/train.py --passes=1
}

cd "$(dirname -- "$0")"
case $1 in
packages)
    find_python
    install_packages
    bring_openmp
    leave_out
    ;;
bridge)
    add_bridge
    prove
    ;;
esac
