"""Files for a guest: a folder that becomes its root, with the shared libraries that programs need,
packed as the kernel wants it."""

import os
import re
import shutil
import stat
import subprocess

ELF = b"\x7fELF"
# Debian's layout: what packages have in /bin and the like is in /usr.
MERGED = ("bin", "sbin", "lib", "lib64")


class MissingLibrary(Exception):
    """A program's library is nowhere to be found."""


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == ELF


def add_file(root, source, target):
    """Copies the file, or what the link leads to, to `target`, a path in the guest."""
    place = os.path.join(root, target.lstrip("/"))
    os.makedirs(os.path.dirname(place), exist_ok=True)
    shutil.copy(source, place)
    return place


def shared_libraries(program, folders=()):
    """The paths of those that the program is linked with; `folders` are looked at first."""
    environment = dict(os.environ)
    if folders:
        environment["LD_LIBRARY_PATH"] = ":".join(folders)
    ldd = subprocess.run(["ldd", program], env=environment, text=True, capture_output=True,
                         stdin=subprocess.DEVNULL, timeout=60, check=False)
    missing = re.findall(r"(\S+) => not found", ldd.stdout)
    if missing:
        raise MissingLibrary(f"{program} needs {', '.join(missing)}, which this machine lacks")
    return re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", ldd.stdout, re.MULTILINE)


def guest_path(library, sysroot=None):
    """Where a library of this machine, or of the packages unpacked in `sysroot`, is in the guest."""
    if sysroot and library.startswith(sysroot + "/"):
        library = library[len(sysroot):]
    first = library.split("/")[1]
    return "/usr" + library if first in MERGED else library


def add_shared_libraries(root, program, sysroot=None, folders=()):
    """Those that are not there yet."""
    for library in shared_libraries(program, folders):
        target = guest_path(library, sysroot)
        if not os.path.exists(root + target):
            add_file(root, library, target)


class Archive:
    """Writes a cpio archive of the kind that the kernel unpacks ("newc": the kernel's
    Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self, file):
        self._file = file
        self._inode = 0

    def add_tree(self, root):
        """Everything in the folder, which is the guest's root; all of it belongs to root there."""
        for folder, folders, files in os.walk(root):
            folders.sort()
            for name in sorted(folders + files):
                path = os.path.join(folder, name)
                self._add(os.path.relpath(path, root), path)

    def close(self):
        self._record("TRAILER!!!", 0, b"")

    def _add(self, name, path):
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            data = os.readlink(path).encode()
        elif stat.S_ISREG(mode):
            with open(path, "rb") as file:
                data = file.read()
        elif stat.S_ISDIR(mode):
            data = b""
        else:
            raise ValueError(f"{path} is neither file, folder nor link")
        self._record(name, mode, data)

    def _record(self, name, mode, data):
        self._inode += 1
        encoded = name.encode() + b"\0"
        # inode, mode, user, group, links, time, size, device, its device, length of name, checksum
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
        self._write_padded(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
        self._write_padded(data)

    def _write_padded(self, data):
        self._file.write(data + b"\0" * (-len(data) % 4))


def pack(root, archive_path):
    """Packs the folder into a file, which appears when it is complete."""
    unfinished = archive_path + ".unfinished"
    with open(unfinished, "wb") as file:
        archive = Archive(file)
        archive.add_tree(root)
        archive.close()
    os.replace(unfinished, archive_path)
