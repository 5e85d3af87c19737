#!/usr/bin/env python3
"""Runs a command in a virtual machine with soft-RoCE devices: real libibverbs, the kernel's verbs and
RoCE v2 packets on machines that have no adapter and no modules to load.

The guest runs the command as root in /work, by sh, without input. Devices rxe0, rxe1, ... are on
eth0, eth1, ... with addresses 10.99.0.1, 10.99.0.2, ...; their cables end at sw0, sw1, ... of a
bridge, so that `ip link set sw1 down` cuts one and `tc qdisc add dev eth1 root netem loss 1%` spoils
one. A device that talks to itself does so without packets: to play several hosts, give each rank
devices of its own (RONDO_IB_DEVICES).

Exit status: the command's; 124 if the deadline has passed, 125 if the guest failed.
"""

import argparse
import os
import sys
import time

import base_image
import initramfs
import machine

TIMED_OUT = 124
FAILED = 125


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=2, help="how many (2)")
    parser.add_argument("--mtu", type=int, default=4200, help="of their networks (4200)")
    parser.add_argument("--carry", action="append", default=[], metavar="FILE",
                        help="copy to /work, a program with its shared libraries; repeatable")
    parser.add_argument("--environment", action="append", default=[], metavar="NAME=VALUE",
                        help="for the command; repeatable")
    parser.add_argument("--deadline", type=float, default=300, metavar="SECONDS",
                        help="for everything (300)")
    parser.add_argument("--processors", type=int, default=1)
    parser.add_argument("--memory", type=int, default=2048, metavar="MIB")
    parser.add_argument("--accelerator", choices=("auto", "kvm", "tcg"), default="auto",
                        help="tcg emulates the processor; kvm is faster, where there is /dev/kvm")
    parser.add_argument("--prepare", action="store_true",
                        help="only make the base image, in $RONDOTEST_RXE_CACHE, "
                        "$XDG_CACHE_HOME/rondo-rxe or ~/.cache/rondo-rxe")
    parser.add_argument("command", nargs="*", metavar="COMMAND",
                        help="one word is a line for the shell")
    arguments = parser.parse_args()
    if not arguments.prepare and not arguments.command:
        parser.error("nothing to run")
    return arguments


def command_line(words):
    return words[0] if len(words) == 1 else machine.shlex.join(words)


def main():
    arguments = parse_arguments()
    started = time.monotonic()
    deadline = started + arguments.deadline
    try:
        base = base_image.ensure(deadline)
        if arguments.prepare:
            return 0
        ended = machine.run(base, machine.Run(
            command=command_line(arguments.command),
            files=arguments.carry,
            environment=dict(pair.split("=", 1) for pair in arguments.environment),
            devices=arguments.devices,
            mtu=arguments.mtu,
            memory_mib=arguments.memory,
            processors=arguments.processors,
            accelerator=arguments.accelerator), deadline)
    except base_image.Unavailable as error:
        print(f"rxe_guest: there is no base image: {error}", file=sys.stderr)
        return FAILED
    except machine.TookTooLong as error:
        print(f"rxe_guest: {error}", file=sys.stderr)
        return TIMED_OUT
    except (machine.GuestFailed, initramfs.MissingLibrary, OSError) as error:
        print(f"rxe_guest: {error}", file=sys.stderr)
        return FAILED
    print(f"rxe_guest: booted in {ended.boot_s:.1f} s ({ended.accelerator}), command took "
          f"{ended.command_s:.1f} s, status {ended.status}, {time.monotonic() - started:.1f} s in "
          "all", file=sys.stderr)
    return ended.status


if __name__ == "__main__":
    sys.exit(main())
