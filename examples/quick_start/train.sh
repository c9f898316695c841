#!/bin/bash
# Trains one of the networks below on the prepared reviews, here: the passes go to ./output, what is told to stdout and
# train.log. Another one: `cfg=trainer_config.lstm.py ./train.sh`; flags of `paddle train` may follow.
set -e
cd "$(dirname "${BASH_SOURCE[0]}")"
cfg=${cfg:-trainer_config.lr.py}
#cfg=trainer_config.emb.py
#cfg=trainer_config.cnn.py
#cfg=trainer_config.lstm.py
#cfg=trainer_config.bidi-lstm.py
#cfg=trainer_config.db-lstm.py

# Not `paddle train | tee`: tee's exit code would be this script's, and bash would hear no TERM before the end.
# Nor `exec paddle train`: where this is a container's process 1, tee would end with it, and lose the last lines.
exec > >(exec tee -i train.log) 2>&1
log=$!
# Before paddle is there, so that no TERM is lost between the two.
paddle='' told=''
trap 'told=yes; [ -z "$paddle" ] || kill "$paddle" 2>/dev/null' TERM INT
paddle train \
  --config="$cfg" \
  --save_dir=./output \
  --trainer_count=4 \
  --log_period=20 \
  --num_passes=15 \
  --use_gpu=false \
  --show_parameter_stats_period=100 \
  --test_all_data_in_one_period=1 \
  "$@" &
paddle=$!
[ -z "$told" ] || kill "$paddle" 2>/dev/null || true

code=0
while kill -0 "$paddle" 2>/dev/null; do
  wait "$paddle" || true # a signal ends `wait` before paddle
done
wait "$paddle" || code=$?
exec >&- 2>&-
wait "$log" || true
exit "$code"
