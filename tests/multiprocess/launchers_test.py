"""Starts ranks as launchers do, and checks that they find each other, or say what is wrong.

usage: launchers_test.py PROGRAM CHECK, where CHECK is the name of a function below. Ends with 77 if the
launcher that a check needs is not installed.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
SECRET = "correct horse battery staple"
program = ""


def clean_environment():
    """This process's environment without what a launcher above it may have said."""
    known = re.compile(r"RONDO_|SLURM_|PMI|OMPI_|MPI_|(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_.*)$")
    return {name: value for name, value in os.environ.items() if not known.match(name)}


def free_ports(count=1):
    """A port of those that the system does not give to outgoing connections, the next ones too."""
    for first in range(10000 + os.getpid() * 32 % 9000, 20000, count):
        try:
            for port in range(first, first + count):
                with socket.socket(socket.AF_INET6) as probe:
                    probe.bind(("::", port))
            return first
        except OSError:
            continue
    raise AssertionError("no free ports")


def start(**variables):
    return subprocess.Popen([program], env={**clean_environment(), **variables}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(processes, expect=0):
    """What each wrote to stdout and stderr."""
    outputs = []
    for process in processes:
        out, err = process.communicate(timeout=60)
        outputs.append(out + err)
        assert process.returncode == expect, f"status {process.returncode}\n{out}{err}"
    return outputs


def expect_ranks(outputs, ranks):
    said = sorted(re.findall(r"rank (\d+) of (\d+)\n", "".join(outputs)))
    assert said == [(str(rank), str(ranks)) for rank in range(ranks)], outputs


def by_hand(rank, ranks, port, **more):
    return start(**{"RONDO_RANK": str(rank), "RONDO_RANKS": str(ranks),
                    "RONDO_ROOT": f"127.0.0.1:{port}", **more})


def torchrun(rank, ranks, port, **more):
    return start(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                 LOCAL_WORLD_SIZE=str(ranks), MASTER_ADDR="localhost", MASTER_PORT=str(port), **more)


def slurm(rank, ranks, job, **more):
    return start(SLURM_PROCID=str(rank), SLURM_NTASKS=str(ranks), SLURM_LOCALID=str(rank),
                 SLURM_JOB_ID=str(job), SLURM_STEP_ID="0", SLURM_STEP_NODELIST="localhost", **more)


def variables():
    """RONDO_RANK and its kin, with and without a secret; one rank needs no root."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "secret")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(SECRET + "\n")
        for more in ({}, {"RONDO_SECRET": SECRET}, {"RONDO_SECRET_FILE": path}):
            port = free_ports()
            outputs = finish([by_hand(rank, 3, port, **more) for rank in range(3)])
            expect_ranks(outputs, 3)
            assert ("identity check only" in "".join(outputs)) == (not more), outputs
    expect_ranks(finish([start(RONDO_RANK="0", RONDO_RANKS="1")]), 1)
    # Field case N05: hosts that have IPv6 only.
    port = free_ports()
    expect_ranks(finish([by_hand(rank, 2, port, RONDO_ROOT=f"[::1]:{port}") for rank in range(2)]), 2)
    first = free_ports(4)
    expect_ranks(finish([by_hand(rank, 2, f"{first}-{first + 3}") for rank in range(2)]), 2)


def wrong_variables():
    """Each is named."""
    for more, part in [
            ({}, "Looked for"),
            ({"RONDO_RANK": "0"}, "RONDO_RANKS is not"),
            ({"RONDO_RANK": "0", "RONDO_RANKS": "2"}, "RONDO_ROOT is not"),
            ({"RONDO_RANK": "2", "RONDO_RANKS": "2", "RONDO_ROOT": "a:1"}, "RONDO_RANK is 2"),
            ({"RONDO_RANK": "0", "RONDO_RANKS": "2", "RONDO_ROOT": "a:x"}, "RONDO_ROOT"),
            ({"RANK": "0", "WORLD_SIZE": "two"}, "WORLD_SIZE"),
            ({"RONDO_RANK": "0", "RONDO_RANKS": "2", "RONDO_ROOT": "127.0.0.1:9",
              "RONDO_SECRET_FILE": "/etc/passwd"}, "/etc/passwd has mode"),
            ({"RONDO_RANK": "1", "RONDO_RANKS": "2", "RONDO_ROOT": "8.8.8.8:9"}, "RONDO_SECRET")]:
        output = finish([start(**more)], expect=1)[0]
        assert part in output, (more, output)


def other_secret():
    """Ranks with different secrets do not meet, and say so."""
    port = free_ports()
    ranks = [by_hand(rank, 2, port, RONDO_SECRET=f"{SECRET} {rank}", RONDO_INIT_TIMEOUT_MS="4000")
             for rank in range(2)]
    outputs = finish(ranks, expect=1)
    assert "another run" in outputs[1] or "mismatch" in outputs[1].lower(), outputs


def secret_is_not_logged():
    """Neither whole nor in part, at any level."""
    port = free_ports()
    outputs = finish([by_hand(rank, 2, port, RONDO_SECRET=SECRET, RONDO_LOG_LEVEL="debug")
                      for rank in range(2)])
    text = "".join(outputs)
    assert "RONDO_SECRET value (set)" in text, text
    assert SECRET not in text and "horse" not in text, text
    short = finish([by_hand(0, 2, port, RONDO_SECRET="hunter2")], expect=1)[0]
    assert "RONDO_SECRET" in short and "hunter2" not in short, short


def torchrun_variables():
    """torchrun's, whose MASTER_PORT is its own store's and is left alone."""
    first = free_ports(17)
    with socket.socket(socket.AF_INET) as store, socket.socket(socket.AF_INET) as other:
        for listener, port in ((store, first), (other, first + 1)):
            listener.bind(("127.0.0.1", port))
            listener.listen()
            listener.setblocking(False)
        outputs = finish([torchrun(rank, 3, first, RONDO_LOG_LEVEL="info") for rank in range(3)])
        expect_ranks(outputs, 3)
        assert "from torchrun" in "".join(outputs), outputs
        try:
            store.accept()
            raise AssertionError("somebody connected to MASTER_PORT")
        except BlockingIOError:
            pass


def slurm_variables():
    """Slurm's, with ports that follow from the job."""
    outputs = finish([slurm(rank, 3, os.getpid(), RONDO_LOG_LEVEL="info") for rank in range(3)])
    expect_ranks(outputs, 3)
    assert "from Slurm" in "".join(outputs), outputs


def root_comes_late():
    """Field case N07: rank 1 comes 3 s before the root."""
    port = free_ports()
    ranks = [by_hand(1, 2, port)]
    time.sleep(3)
    ranks.append(by_hand(0, 2, port))
    expect_ranks(finish(ranks), 2)


def root_never_comes():
    """Field case N07: the error comes in time and says what was tried."""
    port = free_ports()
    begin = time.monotonic()
    output = finish([by_hand(1, 2, port, RONDO_INIT_TIMEOUT_MS="5000")], expect=1)[0]
    assert 4 < time.monotonic() - begin < 8
    assert f"127.0.0.1:{port}" in output and "Connection refused" in output, output


def same_port_again():
    """Field case N08: ten jobs back to back on one port."""
    port = free_ports()
    for _ in range(10):
        expect_ranks(finish([by_hand(rank, 2, port) for rank in range(2)]), 2)


def foreign_listener():
    """Field case N08: a port that somebody else has is named, soon."""
    with socket.socket(socket.AF_INET) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        begin = time.monotonic()
        output = finish([by_hand(0, 2, port)], expect=1)[0]
        assert time.monotonic() - begin < 5
        assert str(port) in output and "Address already in use" in output, output


def good_run(ranks, **more):
    """What each rank of a run writes in which nothing is wrong."""
    port = free_ports()
    return finish([by_hand(rank, ranks, port, RONDO_SECRET=SECRET, **more) for rank in range(ranks)])


def silence():
    """Field case T05: without RONDO_LOG_LEVEL a good run says nothing but what the program says."""
    for transport in ("shm,tcp", "shm", "tcp"):
        outputs = good_run(3, RONDO_TRANSPORT=transport)
        assert outputs == [f"rank {rank} of 3\n" for rank in range(3)], outputs


def info_line():
    """At level info each rank says once per communicator how it stands, and once what it was told."""
    for transport in ("shm", "tcp"):
        for rank, text in enumerate(good_run(3, RONDO_TRANSPORT=transport, RONDO_LOG_LEVEL="info")):
            others = ", ".join(str(other) for other in range(3) if other != rank)
            line = (rf" info communicator \S+ rank {rank} joined 3 ranks as processes: ranks {others} over "
                    rf"{transport}; memory [0-9.]+ MiB huge pages [0-9.]+ MiB; cpus \d+ slots \d+ of bytes \d+\n")
            assert len(re.findall(line, text)) == 2, text  # the program makes two communicators
            for variable in ("RONDO_RANK", "RONDO_RANKS", "RONDO_ROOT", "RONDO_SECRET", "RONDO_TRANSPORT",
                             "RONDO_LOG_LEVEL"):
                assert len(re.findall(f"{variable} value", text)) == 1, (variable, text)


def require(name):
    path = shutil.which(name)
    if path is None:
        print(f"skipped: {name} is not installed (scripts/dependencies installs it)")
        sys.exit(SKIPPED)
    return path


def launch(*words, **more):
    done = subprocess.run([*words, program], env={**clean_environment(), **more}, text=True,
                          capture_output=True, timeout=100, check=False)
    assert done.returncode == 0, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def open_mpi():
    """mpirun: the id travels through PMIx, or the ranks meet at RONDO_ROOT."""
    words = [require("mpirun.openmpi"), "--allow-run-as-root", "--oversubscribe", "-n", "3"]
    output = launch(*words, RONDO_LOG_LEVEL="info")
    expect_ranks([output], 3)
    assert "from Open MPI" in output and "identity check only" not in output, output
    output = launch(*words, "-x", "RONDO_ROOT", RONDO_ROOT=f"127.0.0.1:{free_ports()}")
    expect_ranks([output], 3)


def mpich():
    """mpiexec of MPICH: the id travels over PMI-1, or the ranks meet at RONDO_ROOT."""
    words = [require("mpiexec.hydra"), "-n", "3"]
    output = launch(*words, RONDO_LOG_LEVEL="info")
    expect_ranks([output], 3)
    assert "from MPICH" in output and "identity check only" not in output, output
    expect_ranks([launch(*words, RONDO_ROOT=f"127.0.0.1:{free_ports()}")], 3)


if __name__ == "__main__":
    checks = {check.__name__: check for check in (
        variables, wrong_variables, other_secret, secret_is_not_logged, torchrun_variables,
        slurm_variables, root_comes_late, root_never_comes, same_port_again, foreign_listener,
        silence, info_line, open_mpi, mpich)}
    if len(sys.argv) != 3 or sys.argv[2] not in checks:
        sys.exit(f"{__doc__}\nCHECK: {' '.join(checks)}")
    program = sys.argv[1]
    checks[sys.argv[2]]()
