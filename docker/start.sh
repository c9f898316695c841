#!/bin/sh
# What a Job's `command: ["bin/bash", "-c", "/root/start.sh"]` runs: start_paddle, with the flags that a training has
# by default.
#
# It works in the directory it lies in, /root in the image. The job's files, $JOB_PATH/$JOB_NAME/$TRAIN_CONFIG_DIR/*,
# are copied there by start_paddle itself, which LAUNCHER_WORKDIR tells where (a manifest may say another place): verified, and by the rules for data.
# `exec`, so that the launcher becomes process 1: it gets the kubelet's signals, and its exit code is the pod's.
set -eu

CDPATH='' cd -- "$(dirname -- "$0")"
export LAUNCHER_WORKDIR="${LAUNCHER_WORKDIR:-$(pwd)}"

for python in /opt/launcher/bin/python python3 python; do
    if command -v "$python" >/dev/null 2>&1; then
        exec "$python" ./start_paddle.py \
            --dot_period=10 \
            --log_period=50 \
            --num_passes=10 \
            --trainer_count="${TRAINER_COUNT:-4}" \
            --saving_period=1 \
            --local=0 \
            --use_gpu=0 \
            --config=./trainer_config.py \
            --ports_num_for_sparse="${CONF_PADDLE_PORTS_NUM_SPARSE:-1}" \
            "$@"
    fi
done

echo "start.sh: no Python in this image: expected /opt/launcher/bin/python, or python3 or python on PATH=$PATH" >&2
exit 71
