#!/bin/bash
# Brings reviews_Electronics_5.json.gz here: made-up reviews, or a file of Amazon's that was downloaded (473 MB):
#
#   curl -O http://snap.stanford.edu/data/amazon/productGraph/categoryFiles/reviews_Electronics_5.json.gz
#   ./get_data.sh reviews_Electronics_5.json.gz
set -e
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
file=$here/reviews_Electronics_5.json.gz

if [ $# -gt 1 ]; then
  echo "usage: get_data.sh [FILE]   FILE: Amazon's reviews_Electronics_5.json.gz, or any file in its form" >&2
  exit 64
elif [ $# = 1 ] && [ "$1" -ef "$file" ]; then
  echo "$file is in its place"
elif [ $# = 1 ]; then
  half=$here/.reviews_Electronics_5.json.gz.half
  trap 'rm -f "$half"' EXIT
  cp "$1" "$half"
  gzip --test "$half"
  mv "$half" "$file"
  echo "$file: from $1"
elif [ -e "$file" ]; then
  echo "$file is there already: remove it to have made-up reviews in its place"
else
  exec python3 "$here/../make_reviews.py" "$file"
fi
