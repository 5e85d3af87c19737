#!/bin/sh
# Everything that is tried over soft-RoCE, inside of the guest (rxe_guest/), by the programs beside
# this file. Ends with 0 only if each of them has run to its end.
export RONDO_TRANSPORT=verbs RONDO_INTERFACE=lo
failed=0
for program in ./verbs_rxe_transport_test ./verbs_rxe_ranks_test; do
  "$program" --gtest_brief=0 || failed=1
done
echo "soft-RoCE: packets sent, lost requests repeated"
for folder in /sys/class/infiniband/*/ports/1/hw_counters; do
  echo "${folder#/sys/class/infiniband/} $(cat "$folder/sent_pkts" "$folder/completer_retry_err" | tr '\n' ' ')"
done
exit "$failed"
