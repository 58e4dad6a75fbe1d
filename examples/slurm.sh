#!/usr/bin/env bash
# Run a sweep as a SLURM job array: every task runs one shard, and all tasks write into one folder.
#
#     sbatch examples/slurm.sh
#     PRESET=quick OUT=/scratch/$USER/quick sbatch --array=1-20 examples/slurm.sh --seeds 50
#
# The array must start at 1. To resume tasks that were killed or ran out of time, submit the array again.
#SBATCH --job-name=monmdp
#SBATCH --array=1-4
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=01:00:00
set -euo pipefail

PRESET="${PRESET:-paper}"
OUT="${OUT:-results}"

exec monmdp reproduce --preset "$PRESET" --out "$OUT" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" "$@"
