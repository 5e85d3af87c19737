#!/bin/sh
# Process 1 of the guest: makes the network and the soft-RoCE devices, runs /guest/command and says
# how it ended. machine.py reads what is written to the two ports.
export PATH=/usr/sbin:/usr/bin HOME=/root TERM=dumb LC_ALL=C
. /guest/settings  # DEVICES, MTU

mount_file_systems() {
  mount -t proc proc /proc
  mount -t sysfs sys /sys
  mount -t devtmpfs dev /dev
  mkdir -p /dev/shm
  mount -t tmpfs -o size=50% shm /dev/shm
  mount -t tmpfs -o size=50% tmp /tmp
  mount -t tmpfs run /run
  ln -s /proc/self/fd /dev/fd
}

load_modules() {
  for module in /modules/*.ko; do
    insmod "$module" || echo "guest: $module does not load" >/dev/console
  done
}

# port NAME: prints the device of the virtio port of this name.
port() {
  for folder in /sys/class/virtio-ports/*; do
    if [ "$(cat "$folder/name" 2>/dev/null)" = "$1" ]; then
      echo "/dev/${folder##*/}"
      return
    fi
  done
}

find_ports() {
  for attempt in 1 2 3 4 5 6 7 8 9 10; do
    output="$(port output)" status="$(port status)"
    if [ -n "$output" ] && [ -n "$status" ]; then
      return
    fi
    sleep 0.2
  done
  echo "guest: no virtio ports" >/dev/console
  poweroff -f
}

# end STATUS
end() {
  echo "exit $1" >&8
  poweroff -f
  sleep 60
}

fail() {
  echo "guest: $*" >&9
  echo "failed" >&8
  poweroff -f
  sleep 60
}

# Packets to one of our own addresses would go through lo, where soft-RoCE has no device. So the
# table of own addresses is asked last, except for what comes in by a device; and each address has
# a table that leads through its own device.
prepare_routing() {
  for file in all default; do
    echo 0 >"/proc/sys/net/ipv4/conf/$file/rp_filter"
    echo 1 >"/proc/sys/net/ipv4/conf/$file/accept_local"
    # Only the device that has an address answers for it.
    echo 1 >"/proc/sys/net/ipv4/conf/$file/arp_ignore"
    echo 2 >"/proc/sys/net/ipv4/conf/$file/arp_announce"
  done
  ip rule add pref 10 iif lo to 127.0.0.0/8 lookup local
  ip rule add pref 100 lookup local
}

# add_device I: soft-RoCE device rxeI on ethI, 10.99.0.(I+1), whose cable ends at swI of the bridge.
add_device() {
  address="10.99.0.$(($1 + 1))"
  ip link add "eth$1" type veth peer name "sw$1"
  ip link set "sw$1" mtu "$MTU" master switch up
  ip link set "eth$1" mtu "$MTU" up
  ip address add "$address/24" dev "eth$1"
  ip route add 10.99.0.0/24 dev "eth$1" src "$address" table $((1000 + $1))
  ip rule add pref 20 iif "eth$1" lookup local
  ip rule add pref 30 iif lo from "$address" to "$address" lookup local
  ip rule add pref 40 iif lo from "$address" lookup $((1000 + $1))
  rdma link add "rxe$1" type rxe netdev "eth$1" || fail "there is no rxe$1"
}

# Devices are ACTIVE once their link has a carrier.
wait_for_devices() {
  device=0
  while [ "$device" -lt "$DEVICES" ]; do
    waited=0
    until grep -q ACTIVE "/sys/class/infiniband/rxe$device/ports/1/state"; do
      waited=$((waited + 1))
      [ "$waited" -lt 50 ] || fail "rxe$device does not become ACTIVE"
      sleep 0.1
    done
    device=$((device + 1))
  done
}

make_network() {
  ip link set lo up
  ip link add switch type bridge forward_delay 0 mcast_snooping 0
  ip link set switch mtu "$MTU" up
  prepare_routing
  device=0
  while [ "$device" -lt "$DEVICES" ]; do
    add_device "$device"
    device=$((device + 1))
  done
  ip rule delete pref 0
  wait_for_devices
}

mount_file_systems
load_modules
find_ports
exec 9>"$output" 8>"$status"
make_network
ulimit -l unlimited
ulimit -n 65536
cd /work || fail "no /work"
echo "began" >&8
sh /guest/command </dev/null >&9 2>&1 8>&- 9>&-
end $?
