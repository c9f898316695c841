#!/bin/bash
# Makes data/prepared of the reviews that data/get_data.sh has brought: for its flags, `./preprocess.sh --help`.
set -e
cd "$(dirname "${BASH_SOURCE[0]}")"
exec python3 preprocess.py "$@"
