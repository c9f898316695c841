#!/usr/bin/env bash
# Adds the launcher to an image that has the training framework, or Paddle with it, and if wanted a training package.
set -euo pipefail

help() {
    cat <<'END'
usage: build_docker.sh [--target NAME] [--network NAME] <base image> <runtime image>
       build_docker.sh [--target NAME] [--network NAME] <src package> <dest package> <base image> <runtime image>
       build_docker.sh --prepare

Builds <runtime image>: <base image> with the launcher in it, /root/start.sh and `start_paddle`. With four arguments
the directory <src package> of this machine is copied to <dest package>, an absolute path in the image.

  --target NAME    what is added: `launcher` alone, which is the default, `paddle` for Paddle 2.6.2 as well, where the
                   base has none, or `quickstart` for the first article's demo on top of that; `data` is the launcher
                   with the split as its command, for the first article's data Job; `launcher-init` is the launcher with
                   Python and the C library of <base image>, a Debian: an init container brings it into any image
  --network NAME   which network the build uses to fetch the packages, such as `host`; as in `docker build --network`
  --prepare        only put the source of the launcher into docker/dist, for a `docker build` by hand in docker/
  -h, --help       this text

Needs bash and docker alone; <base image> needs a Python 3.11 or newer beside the framework, of whatever version that is,
and for Paddle a Python 3.11.

examples:
  tools/build_docker.sh paddlepaddle/paddle your-registry/paddle:mypaddle
  tools/build_docker.sh ./example/ /example paddlepaddle/paddle your-registry/paddle-job
  tools/build_docker.sh --target paddle python:3.11-slim-bookworm your-registry/paddle:mypaddle
  tools/build_docker.sh --network host python:3.11-slim-bookworm paddle-launcher

and then: docker push your-registry/paddle:mypaddle
END
}

TOP=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
SOURCE=(launcher examples setup.cfg setup.py pyproject.toml requirements.lock README.md LICENSE)
# What running the examples in the checkout leaves there, and Python.
LEFT_OUT=(__pycache__ .mypy_cache 'examples/*/output' 'examples/*/train.log' 'examples/*/data/prepared'
    'examples/*/data/*.gz' 'examples/*/data/*.dat')
WORDS=2 CANNOT=1 # exit codes: the arguments cannot be right; they may be, but it does not work here

fail() {
    local code=$1
    shift
    echo "build_docker.sh: $*" >&2
    exit "$code"
}

main() {
    network=() target=launcher
    while [[ ${1:-} == -* ]]; do
        case $1 in
        -h | --help) help && exit 0 ;;
        --prepare) prepare "$TOP/docker/dist" && exit 0 ;;
        --target)
            [[ ${2:-} =~ ^(launcher|launcher-init|data|paddle|quickstart)$ ]] ||
                fail $WORDS "--target: expected launcher, launcher-init, data, paddle or quickstart after it"
            target=$2
            shift 2
            ;;
        --target=?*) set -- --target "${1#*=}" "${@:2}" ;;
        --network)
            [[ -n ${2:-} ]] || fail $WORDS "--network: expected a name after it, such as host"
            network=(--network "$2")
            shift 2
            ;;
        --network=?*) network=("$1") && shift ;;
        *) fail $WORDS "$1 is no option of this program: expected --network NAME, --target NAME, --prepare or" \
            "--help" ;;
        esac
    done
    local src='' dest=''
    case $# in
    2) ;;
    4)
        src=$1 dest=$2
        shift 2
        ;;
    *) fail $WORDS "$# arguments: expected 2, a base image and a runtime image, or 4, with the source and destination" \
        "of a package before them; --help has examples" ;;
    esac
    check_name "$1" "the base image"
    check_name "$2" "the runtime image"
    [[ $# -eq 0 || -z $src$dest ]] || check_package "$src" "$dest"
    check_docker
    have_image "$1"
    build "$src" "$dest" "$1" "$2"
}

check_name() {
    local name=$1 what=$2
    [[ $name =~ ^[a-zA-Z0-9]([a-zA-Z0-9._:/@-]*[a-zA-Z0-9])?$ && ${name##*/} =~ ^[a-z0-9._-]+(:[^/:]+)?(@.+)?$ ]] ||
        fail $WORDS "$what is called '$name': expected a name such as your-registry/paddle:mypaddle, lower case before" \
            "the colon"
}

check_package() {
    local src=$1 dest=$2
    [[ -n $src && -e $src ]] || fail $WORDS "the source package '$src' is not there: expected a directory of this machine"
    [[ -d $src ]] || fail $WORDS "the source package '$src' is no directory: name the one that it lies in"
    [[ -r $src && -x $src ]] || fail $WORDS "the source package '$src' may not be read by this user: expected a directory" \
        "that may"
    [[ -n $(ls -A -- "$src") ]] || fail $WORDS "the source package '$src' is empty: expected the files of a training program"
    [[ $dest == /* ]] || fail $WORDS "the destination '$dest' is not absolute: expected a path in the image that begins" \
        "with /, such as /${dest##*/}"
    [[ $dest =~ ^[a-zA-Z0-9._/-]+$ ]] || fail $WORDS "the destination '$dest': expected a path of letters, digits and ._-/"
    [[ ! /$dest/ =~ /\.\.?/ ]] || fail $WORDS "the destination '$dest': expected a path without . and .. in it"
    [[ ! $dest =~ ^/+((bin|boot|dev|etc|lib|lib64|proc|root|run|sbin|sys|usr|var|opt|opt/launcher|tmp)/*)?$ ]] ||
        fail $WORDS "the destination '$dest' belongs to the image itself: expected a directory of the package's own, such" \
            "as /example"
}

check_docker() {
    command -v docker >/dev/null || fail $CANNOT "docker is not on PATH: install it (on Debian: apt-get install docker.io)"
    local said
    said=$(docker version --format '{{.Server.Version}}' 2>&1 >/dev/null) ||
        fail $CANNOT "the Docker daemon does not answer (${said%%$'\n'*}): start it (systemctl start docker), or say in" \
            "DOCKER_HOST where it is; a user other than root must be in the group docker"
}

have_image() {
    local said
    docker image inspect "$1" >/dev/null 2>&1 && return
    echo "$1 is not on this machine: pulling it"
    said=$(docker pull --quiet "$1" 2>&1) || {
        told_of_a_full_disk "$said"
        fail $CANNOT "the base image '$1' is not on this machine and cannot be pulled (${said##*$'\n'}): check its name," \
            "docker login where its registry wants that, or bring it by docker load"
    }
}

# Everything that is built here comes to be under another name first: a failed build leaves no half of an image behind.
build() {
    local src=$1 dest=$2 base=$3 runtime=$4
    scratch=$(mktemp -d) || fail $CANNOT "no temporary directory can be made in ${TMPDIR:-/tmp}: expected one with room"
    half="paddle-launcher-half:$$-$RANDOM"
    trap 'docker image rm --no-prune "$half" >/dev/null 2>&1 || true; rm -rf "$scratch"' EXIT
    local context=(Dockerfile launcher-init.Dockerfile .dockerignore bundle.py install.sh install_paddle.sh paddle.lock
        start.sh start_paddle.py starter.c)
    { cp "${context[@]/#/"$TOP/docker/"}" "$scratch" && mkdir "$scratch/dist"; } ||
        fail $CANNOT "the context of the build cannot be written to $scratch: expected room there; TMPDIR names another place"
    prepare "$scratch/dist"
    docker_build "$half" --target "${target%-init}" --build-arg "BASE=$base" "$scratch"
    [[ $target != launcher-init ]] || docker_build "$half" --file "$scratch/launcher-init.Dockerfile" \
        --build-arg "BASE=$base" --build-arg "LAUNCHER=$half" "$scratch"
    if [[ -n $dest ]]; then
        printf 'FROM %s\nCOPY . %s/\n' "$half" "${dest%/}" >"$scratch/package"
        docker_build "$half" --file - "$src" <"$scratch/package"
    fi
    docker tag "$half" "$runtime"
    echo "$runtime is built ($(docker image inspect --format '{{.Size}}' "$runtime" | awk '{ printf "%.0f MB", $1 / 1e6 }'))," \
        "and goes to its registry by: docker push $runtime"
}

prepare() {
    local dist=$1
    if ! { mkdir -p "$dist" && rm -rf "${dist:?}"/* && tar -C "$TOP" "${LEFT_OUT[@]/#/--exclude=}" \
        -cf - "${SOURCE[@]}" | tar -C "$dist" -xf -; }; then
        fail $CANNOT "the launcher's source cannot be copied from $TOP to $dist: expected ${SOURCE[*]} in the first and" \
            "room in the second"
    fi
}

docker_build() {
    local tag=$1
    shift
    docker build ${network[@]+"${network[@]}"} --tag "$tag" "$@" 2>&1 | tee "$scratch/said" >&2 && return
    told_of_a_full_disk "$(<"$scratch/said")"
    if grep -qiE 'name resolution|resolve host|network is unreachable' "$scratch/said"; then
        fail $CANNOT "the build has no way to the package registry: --network host lets it use this machine's own, and" \
            "HTTPS_PROXY names a proxy"
    fi
    fail $CANNOT "docker build failed: its own words are above"
}

told_of_a_full_disk() {
    [[ ! $1 =~ [Nn]o\ space\ left\ on\ device ]] || fail $CANNOT "the disk is full: docker system df tells what Docker" \
        "keeps, docker system prune removes what nothing uses, and df $(docker info --format '{{.DockerRootDir}}' 2>/dev/null)" \
        "tells what is left"
}

main "$@"
