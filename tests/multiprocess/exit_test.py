"""Field case L06: programs that end without destroying their communicator.

usage: exit_test.py PROGRAM TRANSPORT, where PROGRAM is exit_program and TRANSPORT threads, shm or tcp.
"""

import os
import signal
import socket
import subprocess
import sys

# How rank 1 ends, and the status that its parent must see.
WAYS = {"return": 3, "static": 3, "thread_local": 3, "atexit": 3, "exit": 3,
        "exit_while_one_waits": 3, "exception": -signal.SIGABRT}
DEADLINE_SECONDS = 20
SECRET = "correct horse battery staple"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(program, way, rank, ranks, port, **more):
    environment = {**os.environ, "RONDO_RANK": str(rank), "RONDO_RANKS": str(ranks),
                   "RONDO_ROOT": f"127.0.0.1:{port}", "RONDO_SECRET": SECRET, **more}
    return subprocess.Popen([program, way], env=environment, text=True, stderr=subprocess.PIPE)


def expect(what, process, status):
    _, err = process.communicate(timeout=DEADLINE_SECONDS)
    assert process.returncode == status, f"{what}: status {process.returncode}, not {status}\n{err}"


def main():
    program, transport = sys.argv[1:]
    for way, status in WAYS.items():
        port = free_port()
        if transport == "threads":
            expect(way, start(program, way, 0, 1, port), status)
            continue
        ranks = [start(program, way, rank, 2, port, RONDO_TRANSPORT=transport) for rank in range(2)]
        expect(f"{way}: rank 1", ranks[1], status)
        expect(f"{way}: rank 0", ranks[0], 0)


main()
