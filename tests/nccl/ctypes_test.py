"""libnccl.so.2 as programs load it that know nothing but NCCL's documentation: through ctypes.

usage: ctypes_test.py LIBRARY CHECK, where CHECK is the name of a function below. `rank` is what the others start,
a process for each rank.
"""

import array
import ctypes
import os
import subprocess
import sys

RANKS = 3
DEADLINE_SECONDS = 60
SUCCESS, INVALID_ARGUMENT = 0, 4
INT32, FLOAT32 = 2, 7
SUM, MAX, MIN = 0, 2, 3
UNDEFINED = -2**31


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_ubyte * 128)]


class Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint),
                *[(name, ctypes.c_int) for name in ("blocking", "cgaClusterSize", "minCTAs", "maxCTAs")],
                ("netName", ctypes.c_char_p), ("splitShare", ctypes.c_int), ("trafficClass", ctypes.c_int),
                ("commName", ctypes.c_char_p),
                *[(name, ctypes.c_int) for name in ("collnetEnable", "CTAPolicy", "shrinkShare", "nvlsCTAs",
                                                    "nChannelsPerNetPeer", "nvlinkCentricSched")]]

    def __init__(self, name):
        undefined = [None if kind is ctypes.c_char_p else UNDEFINED for _, kind in self._fields_[3:]]
        super().__init__(ctypes.sizeof(Config), 0xcafebeef, 22809, *undefined)
        self.commName = name


def load():
    library = ctypes.CDLL(sys.argv[1])
    library.ncclGetErrorString.restype = ctypes.c_char_p
    library.ncclGetLastError.restype = ctypes.c_char_p
    library.ncclGetLastError.argtypes = [ctypes.c_void_p]
    return library


def call(library, name, *arguments):
    result = getattr(library, name)(*arguments)
    assert result == SUCCESS, (name, library.ncclGetErrorString(result), library.ncclGetLastError(None))


def pointer(values):
    return ctypes.c_void_p(values.buffer_info()[0])


def exchange_id(library, number):
    """Rank 0 says the id on its output, and the others hear it on their input."""
    identity = UniqueId()
    if number == 0:
        call(library, "ncclGetUniqueId", ctypes.byref(identity))
        print(bytes(identity).hex(), flush=True)
    else:
        ctypes.memmove(ctypes.byref(identity), bytes.fromhex(sys.stdin.readline()), ctypes.sizeof(identity))
    return identity


def rank():
    number = int(os.environ["TEST_RANK"])
    library = load()
    comm = ctypes.c_void_p()
    config = Config(b"ctypes")
    call(library, "ncclCommInitRankConfig", ctypes.byref(comm), RANKS, exchange_id(library, number), number,
         ctypes.byref(config))
    reduce_by(library, comm, number)
    send_around(library, comm, number)
    call(library, "ncclCommFinalize", comm)
    call(library, "ncclCommDestroy", comm)


def reduce_by(library, comm, number):
    factor = ctypes.c_float(2)
    twice = ctypes.c_int()
    call(library, "ncclRedOpCreatePreMulSum", ctypes.byref(twice), ctypes.byref(factor), FLOAT32, 1, comm)
    for op, expected in ((SUM, 6), (MAX, 3), (MIN, 1), (twice.value, 12)):
        values = array.array("f", [number + 1] * 1000)
        call(library, "ncclAllReduce", pointer(values), pointer(values), ctypes.c_size_t(1000), FLOAT32, op, comm, None)
        assert set(values) == {expected}, (op, set(values))
    call(library, "ncclRedOpDestroy", twice, comm)


def send_around(library, comm, number):
    sent, received = array.array("i", [number] * 10), array.array("i", [-1] * 10)
    call(library, "ncclGroupStart")
    call(library, "ncclSend", pointer(sent), ctypes.c_size_t(10), INT32, (number + 1) % RANKS, comm, None)
    call(library, "ncclRecv", pointer(received), ctypes.c_size_t(10), INT32, (number - 1) % RANKS, comm, None)
    call(library, "ncclGroupEnd")
    assert set(received) == {(number - 1) % RANKS}, received


def run_ranks(**variables):
    """Starts the ranks, and gives what they wrote to stderr once all have succeeded."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RONDO_", "NCCL_"))}
    processes = []
    try:
        for number in range(RANKS):
            processes.append(subprocess.Popen(
                [sys.executable, __file__, sys.argv[1], "rank"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, env={**clean, **variables, "TEST_RANK": str(number)}))
        identity = processes[0].stdout.readline()
        for process in processes[1:]:
            process.stdin.write(identity)
            process.stdin.flush()
        errors = [process.communicate(timeout=DEADLINE_SECONDS)[1] for process in processes]
        assert all(process.returncode == 0 for process in processes), "".join(errors)
        return "".join(errors)
    finally:
        for process in processes:
            process.kill()


def processes():
    """Ranks that are processes, silent as long as all is well."""
    assert run_ranks() == ""


def variables():
    """NCCL's variables count, with a line for each, unless Rondo's say otherwise."""
    said = run_ranks(NCCL_DEBUG="INFO", NCCL_SHM_DISABLE="1", NCCL_SOCKET_IFNAME="=lo", NCCL_MADE_UP="1")
    for line in ("NCCL_DEBUG is INFO, so RONDO_LOG_LEVEL is info",
                 "NCCL_SHM_DISABLE is 1, so RONDO_TRANSPORT is cuda_ipc,verbs,tcp",
                 "NCCL_SOCKET_IFNAME is =lo, so RONDO_INTERFACE is lo",
                 "NCCL_MADE_UP is 1, which changes nothing"):
        assert said.count(line) == RANKS, (line, said)
    assert run_ranks(NCCL_DEBUG="INFO", RONDO_LOG_LEVEL="warn") == ""


def errors():
    """Wrong calls are refused with a result and a reason."""
    library = load()
    comm = ctypes.c_void_p()
    assert library.ncclCommInitRank(ctypes.byref(comm), 2, UniqueId(), 5) == INVALID_ARGUMENT
    assert b"rank" in library.ncclGetLastError(None)
    assert not comm
    version = ctypes.c_int()
    call(library, "ncclGetVersion", ctypes.byref(version))
    assert version.value == 22809


if __name__ == "__main__":
    globals()[sys.argv[2]]()
