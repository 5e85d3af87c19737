#!/bin/sh
# Starts ranks as torchrun does, where there is no PyTorch: with its variables, on this host.
# usage: torchrun_environment.sh RANKS PROGRAM [ARGUMENT...]
set -eu
ranks=$1
shift

# Rank 0 listens at the first free one of the 16 ports behind this one, which is torchrun's own.
MASTER_ADDR=127.0.0.1
MASTER_PORT=$((20000 + $$ % 10000))
WORLD_SIZE=$ranks
LOCAL_WORLD_SIZE=$ranks
TORCHELASTIC_RUN_ID=example-$$
RONDO_SECRET=$(head -c 32 /dev/urandom | base64) # torchrun passes it on if it is exported for it
export MASTER_ADDR MASTER_PORT WORLD_SIZE LOCAL_WORLD_SIZE TORCHELASTIC_RUN_ID RONDO_SECRET

processes=
rank=0
while [ "$rank" -lt "$ranks" ]; do
  RANK=$rank LOCAL_RANK=$rank "$@" &
  processes="$processes $!"
  rank=$((rank + 1))
done
status=0
for process in $processes; do
  wait "$process" || status=$?
done
exit "$status"
