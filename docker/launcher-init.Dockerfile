# The launcher with a Python, a loader and a C library of its own, which are BASE's, a Debian: an init container with this
# image copies it into a volume at /launcher, and then it runs in a container of any image. From the repository:
#
#     tools/build_docker.sh --target launcher-init python:3.11-slim-bookworm [YOUR_REPO]/paddle-launcher-init
#
# LAUNCHER is the target `launcher` of the Dockerfile beside this one, on the same BASE. A file of its own, since `docker
# build` without BuildKit makes all that stands above a target.
ARG BASE=python:3.11-slim-bookworm
ARG LAUNCHER

FROM ${LAUNCHER} AS launcher

FROM ${BASE} AS bundled
USER root
RUN apt-get -qq update && apt-get -qq install --yes --no-install-recommends gcc linux-libc-dev >/dev/null
COPY --from=launcher /opt/launcher /opt/launcher
COPY bundle.py starter.c /build/
RUN ["/opt/launcher/bin/python", "-I", "/build/bundle.py", "/bundle"]

FROM scratch
COPY --from=bundled /bundle /opt/launcher
# Any number but 0 does; it is not the one of the pod's own container.
USER 10001:10001
CMD ["/opt/launcher/bin/python", "-I", "-m", "launcher.inject"]
