"""The part of the guest that is the same in every run: Debian's kernel with the modules of soft-RoCE,
busybox, iproute2 and libibverbs. Made once from packages that apt-get downloads and kept outside
the repository; nothing is installed on this machine."""

import contextlib
import fcntl
import hashlib
import lzma
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time

import initramfs

# The first that apt offers. Soft-RoCE of 6.12 is twice as fast as that of 6.1.
KERNELS = ("linux-image-6.12-amd64", "linux-image-amd64")
PACKAGES = ("busybox-static", "iproute2", "libbpf1", "libelf1", "libmnl0", "libbsd0", "libmd0",
            "libcap2", "libxtables12", "zlib1g", "libibverbs1", "ibverbs-providers",
            "ibverbs-utils", "libnl-3-200", "libnl-route-3-200", "libsodium23")
PROGRAMS = ("ip", "tc", "rdma", "bridge", "ibv_devices", "ibv_devinfo", "ibv_rc_pingpong")
# Rondo opens these at run time, where ldd does not see them.
OPENED_LIBRARIES = ("libibverbs.so.1", "libsodium.so.23")
# Soft-RoCE checksums every packet. crc32-pclmul is left out: emulating it is slower than the table.
MODULES = ("virtio_pci", "virtio_console", "crc32_generic", "crc32c_generic", "rdma_rxe",
           "veth", "bridge", "sch_netem")
TRIPLET = "/usr/lib/x86_64-linux-gnu"
UNUSED_AFTER_S = 30 * 24 * 3600


class Unavailable(Exception):
    """The image cannot be made here; says why."""


class BaseImage:
    """A kernel and an archive of files, ready to boot."""

    def __init__(self, folder):
        self.kernel = os.path.join(folder, "kernel")
        self.archive = os.path.join(folder, "base.cpio")


def cache_folder():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("RONDOTEST_RXE_CACHE") or os.path.join(home, "rondo-rxe")


def ensure(deadline):
    """The image of this version of the scripts, made if it is not there yet.

    @param deadline of time.monotonic()
    """
    cache = cache_folder()
    os.makedirs(cache, exist_ok=True)
    folder = os.path.join(cache, _version())
    with _locked(os.path.join(cache, "lock"), deadline):
        if not os.path.isdir(folder):
            with tempfile.TemporaryDirectory(prefix="making-", dir=cache) as work:
                _make(work, os.path.join(cache, "packages"), deadline)
                os.rename(os.path.join(work, "image"), folder)
        os.utime(folder)
        _remove_unused(cache)
    return BaseImage(folder)


def _version():
    digest = hashlib.sha256()
    for source in (__file__, initramfs.__file__):
        with open(source, "rb") as file:
            digest.update(file.read())
    return "image-" + digest.hexdigest()[:16]


@contextlib.contextmanager
def _locked(path, deadline):
    with open(path, "w", encoding="ascii") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Unavailable(f"another process is still making it ({path})") from None
                time.sleep(0.2)
        yield


def _remove_unused(cache):
    """Images of other versions, and what was left by a process that was killed."""
    for name in os.listdir(cache):
        path = os.path.join(cache, name)
        old = time.time() - os.stat(path).st_mtime > UNUSED_AFTER_S
        if name.startswith("making-") or (name.startswith("image-") and old):
            shutil.rmtree(path, ignore_errors=True)


def _run(command, deadline, **more):
    """Its output. @raises Unavailable with what it said."""
    left = max(1.0, deadline - time.monotonic())
    try:
        done = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=left, check=False, **more)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{' '.join(command)} took too long") from None
    except OSError as error:
        raise Unavailable(f"cannot run {command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


# Packages.


class Packages:
    """Debian packages, downloaded and kept, each by its name."""

    def __init__(self, folder, deadline):
        self._folder = folder
        self._deadline = deadline
        self._options = []
        os.makedirs(folder, exist_ok=True)

    def unpack(self, names, target):
        for name in names:
            _run(["dpkg-deb", "-x", self._path(name), target], self._deadline)

    def fetch(self, names):
        """Once more with fresh lists if those of this machine are missing or old."""
        wanted = [name for name in names if not os.path.exists(self._path(name))]
        if not wanted:
            return
        try:
            self._download(wanted)
        except Unavailable:
            self._use_own_lists()
            self._download(wanted)

    def kernel(self):
        """The name of the package that has the kernel."""
        known = os.path.join(self._folder, "kernel")
        if not os.path.exists(known):
            name = self._offered_kernel()
            if name is None:
                self._use_own_lists()
                name = self._offered_kernel()
            if name is None:
                raise Unavailable(f"apt offers none of {', '.join(KERNELS)}")
            with open(known, "w", encoding="ascii") as file:
                file.write(name)
        with open(known, encoding="ascii") as file:
            return file.read()

    def _offered_kernel(self):
        """The image that the first known package depends on."""
        for name in KERNELS:
            try:
                text = _run(["apt-cache", *self._options, "depends", "--important", name],
                            self._deadline)
            except Unavailable:
                continue
            image = re.search(r"Depends: (linux-image-\S+)$", text, re.MULTILINE)
            if image:
                return image.group(1)
        return None

    def _path(self, name):
        return os.path.join(self._folder, name + ".deb")

    def _download(self, names):
        with tempfile.TemporaryDirectory(dir=self._folder) as fresh:
            _run(["apt-get", *self._options, "-q", "-o", "APT::Sandbox::User=", "download", *names],
                 self._deadline, cwd=fresh)
            for file in os.listdir(fresh):
                os.replace(os.path.join(fresh, file), self._path(file.split("_")[0]))

    def _use_own_lists(self):
        """Of the same sources as this machine's; needs no rights."""
        if self._options:
            return
        lists = os.path.join(self._folder, "lists")
        self._options = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={lists}/cache"]
        os.makedirs(os.path.join(lists, "cache", "archives", "partial"), exist_ok=True)
        os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
        _run(["apt-get", *self._options, "-q", "-o", "APT::Sandbox::User=", "update"],
             self._deadline)


# The image.


def _make(work, package_folder, deadline):
    """Leaves it in the folder `image` of `work`."""
    if not re.match(r"x86_64|amd64", os.uname().machine):
        raise Unavailable("this machine is no x86-64")
    packages = Packages(package_folder, deadline)
    kernel = packages.kernel()
    packages.fetch((kernel, *PACKAGES))
    kernel_root, sysroot, root, image = (os.path.join(work, name)
                                         for name in ("kernel", "sysroot", "root", "image"))
    packages.unpack([kernel], kernel_root)
    packages.unpack(PACKAGES, sysroot)
    os.mkdir(image)
    _add_folders(root)
    _add_programs(root, sysroot)
    _add_verbs_driver(root, sysroot)
    _add_modules(root, kernel_root)
    initramfs.pack(root, os.path.join(image, "base.cpio"))
    _write_kernel(kernel_root, os.path.join(image, "kernel"))


def _add_folders(root):
    for name in ("proc", "sys", "dev", "tmp", "run", "root", "work", "modules", "etc",
                 "usr/bin", "usr/sbin", "usr/lib", "usr/lib64"):
        os.makedirs(os.path.join(root, name))
    for name in initramfs.MERGED:
        os.symlink("usr/" + name, os.path.join(root, name))
    for name, text in (("passwd", "root:x:0:0:root:/root:/bin/sh\n"), ("group", "root:x:0:\n"),
                       ("hosts", "127.0.0.1 localhost\n")):
        with open(os.path.join(root, "etc", name), "w", encoding="ascii") as file:
            file.write(text)


def _add_programs(root, sysroot):
    """The shell is this machine's: that of busybox prefers its own `ip` to the real one."""
    folders = [sysroot + TRIPLET, sysroot + "/lib/x86_64-linux-gnu"]
    programs = {"sh": os.path.realpath("/bin/sh")}
    for name in PROGRAMS:
        places = (os.path.join(sysroot, folder, name)
                  for folder in ("bin", "sbin", "usr/bin", "usr/sbin"))
        programs[name] = next((place for place in places if os.path.exists(place)), None)
        if programs[name] is None:
            raise Unavailable(f"none of the packages has {name}")
    for name, source in programs.items():
        initramfs.add_file(root, source, f"/usr/bin/{name}")
        initramfs.add_shared_libraries(root, source, sysroot, folders)
    initramfs.add_file(root, sysroot + "/bin/busybox", "/usr/bin/busybox")
    applets = subprocess.run([sysroot + "/bin/busybox", "--list"], text=True, capture_output=True,
                             stdin=subprocess.DEVNULL, timeout=60, check=True).stdout.split()
    for applet in applets:
        place = f"{root}/usr/bin/{applet}"
        if not os.path.exists(place):
            os.symlink("busybox", place)
    for library in OPENED_LIBRARIES:
        initramfs.add_file(root, f"{sysroot}{TRIPLET}/{library}", f"{TRIPLET}/{library}")


def _add_verbs_driver(root, sysroot):
    """Of libibverbs' drivers the one of soft-RoCE."""
    folder = f"{TRIPLET}/libibverbs"
    for name in os.listdir(sysroot + folder):
        if name.startswith("librxe-"):
            driver = initramfs.add_file(root, f"{sysroot}{folder}/{name}", f"{folder}/{name}")
            initramfs.add_shared_libraries(root, driver, sysroot, [sysroot + TRIPLET])
            break
    else:
        raise Unavailable("ibverbs-providers has no driver of soft-RoCE")
    initramfs.add_file(root, sysroot + "/etc/libibverbs.d/rxe.driver",
                       "/etc/libibverbs.d/rxe.driver")


def _add_modules(root, kernel_root):
    """Numbered in an order in which each comes after those that it needs."""
    files = {}
    for folder, _, names in os.walk(os.path.join(kernel_root, "lib", "modules")):
        for name in names:
            found = re.match(r"(.+)\.ko(\.xz)?$", name)
            if found:
                files[found.group(1).replace("-", "_")] = os.path.join(folder, name)
            elif name == "modules.builtin":
                with open(os.path.join(folder, name), encoding="ascii") as file:
                    built_in = {os.path.basename(line.strip())[:-3].replace("-", "_")
                                for line in file}
    done = set()

    def add(name):
        if name in done or name in built_in:
            return
        done.add(name)
        if name not in files:
            raise Unavailable(f"the kernel has no module {name}")
        opener = lzma.open if files[name].endswith(".xz") else open
        with opener(files[name], "rb") as file:
            content = file.read()
        needs = re.search(rb"\0depends=([^\0]*)\0", content)
        for need in filter(None, needs.group(1).decode().split(",") if needs else ()):
            add(need.replace("-", "_"))
        number = len(os.listdir(os.path.join(root, "modules")))
        with open(os.path.join(root, "modules", f"{number:03}-{name}.ko"), "wb") as file:
            file.write(content)

    for module in MODULES:
        add(module)


def _write_kernel(kernel_root, target):
    """The kernel, uncompressed if that is possible: emulated, it takes 2 s to do that itself."""
    boot = os.path.join(kernel_root, "boot")
    name = next(name for name in os.listdir(boot) if name.startswith("vmlinuz-"))
    with open(os.path.join(boot, name), "rb") as file:
        packed = file.read()
    # Documentation/arch/x86/boot.rst of the kernel: setup_sects, payload_offset, payload_length.
    offset, length = struct.unpack_from("<II", packed, 0x248)
    offset += (packed[0x1f1] + 1) * 512
    kernel = packed
    try:
        # Behind the compressed data is their length.
        unpacked = lzma.LZMADecompressor().decompress(packed[offset:offset + length])
        if unpacked.startswith(initramfs.ELF):
            kernel = unpacked
    except lzma.LZMAError:
        pass
    with open(target, "wb") as file:
        file.write(kernel)
