#!/bin/sh
# Start command of a job:   sh /mnt/public/digits/run.sh
# Options are passed on:    sh /mnt/public/digits/run.sh --epochs 60 --learning-rate 0.2
#
# A job may start in any folder: go to the program's own.
cd "$(dirname "$0")" || exit 1
# What is to outlive the job goes to storage that is mounted in all Workers. A second job needs an
# OUTPUT_DIR of its own, or it resumes from the first one's checkpoint.
OUTPUT_DIR="${OUTPUT_DIR:-/mnt/public/outputs/digits}"
export OUTPUT_DIR
# exec: python takes the shell's place, so that it gets SIGTERM itself and its exit code is the job's.
# With one command there is nothing for `set -euo pipefail` to guard; a longer script should begin with it.
exec python3 -u train.py "$@"
