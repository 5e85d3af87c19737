"""Boots the guest under QEMU, runs one command in it and gives back how that ended."""

import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field

import initramfs

HERE = os.path.dirname(os.path.abspath(__file__))
QEMU = "qemu-system-x86_64"
KVM = "/dev/kvm"
# Booting takes 10 to 30 s without KVM on a busy machine.
BOOT_LIMIT_S = {"kvm": 20, "tcg": 120}
BOOT_TRIES = 3
KVM_STOPPED = "KVM internal error"  # QEMU then waits for a debugger
CONSOLE_LINES = 120
KERNEL_WORDS = ("console=ttyS0", "quiet", "loglevel=5", "panic=-1", "rdinit=/init",
                # Emulated, these cost time.
                "mitigations=off", "init_on_alloc=0", "nokaslr", "tsc=reliable", "no_timer_check",
                "random.trust_cpu=on")


class GuestFailed(Exception):
    """The guest, not the command, went wrong; the message has the console."""


class TookTooLong(GuestFailed):
    """The deadline has passed."""


@dataclass
class Run:
    """What is to be run, and on what."""
    command: str
    files: list = field(default_factory=list)  # programs and others, carried to /work
    environment: dict = field(default_factory=dict)
    devices: int = 2
    mtu: int = 4200  # room for 4096 bytes of RoCE
    memory_mib: int = 2048
    processors: int = 1
    accelerator: str = "auto"  # or kvm, tcg
    qemu: str = QEMU


@dataclass
class Ended:
    """How the command ended."""
    status: int
    boot_s: float
    command_s: float
    accelerator: str


def _say(text):
    print(f"rxe_guest: {text}", file=sys.stderr, flush=True)


def may_use_kvm():
    """Whether it is there; whether it works, is another matter inside of virtual machines."""
    try:
        os.close(os.open(KVM, os.O_RDWR))
        return True
    except OSError:
        return False


def run(base, what, deadline):
    """Boots, again if the guest dies before the command has begun, and runs the command once.

    The command's output goes to this process's stdout.
    @param base     a BaseImage
    @param deadline of time.monotonic(), for everything
    @raises GuestFailed
    """
    with tempfile.TemporaryDirectory(prefix="rondo-rxe-") as folder:
        image = _write_image(folder, base, what)
        if what.accelerator == "auto" and may_use_kvm():
            boot = _Boot(folder, base.kernel, image, what, "kvm")
            ended = boot.run(deadline)
            if ended is not None:
                return ended
            _say(f"does not boot with {KVM} ({boot.last_words()}), emulating instead")
        accelerator = "kvm" if what.accelerator == "kvm" else "tcg"
        for attempt in range(1, BOOT_TRIES + 1):
            boot = _Boot(folder, base.kernel, image, what, accelerator)
            ended = boot.run(deadline)
            if ended is not None:
                return ended
            # With several processors QEMU emulates kernels that patch their own code while they
            # boot not quite right, and about one boot in thirty dies.
            _say(f"boot {attempt} of {BOOT_TRIES} failed before the command had begun\n"
                 f"{boot.describe()}")
        raise GuestFailed(f"the guest did not boot in {BOOT_TRIES} tries")


def _write_image(folder, base, what):
    """The base image with the files of this run behind it: the kernel unpacks one archive after
    the other."""
    root = os.path.join(folder, "root")
    for path in what.files:
        initramfs.add_file(root, path, "/work/" + os.path.basename(path))
        if initramfs.is_elf(path):
            initramfs.add_shared_libraries(root, path)
    for name, text in (("settings", f"DEVICES={what.devices}\nMTU={what.mtu}\n"),
                       ("command", _command_text(what))):
        os.makedirs(os.path.join(root, "guest"), exist_ok=True)
        with open(os.path.join(root, "guest", name), "w", encoding="utf-8") as file:
            file.write(text)
    os.chmod(initramfs.add_file(root, os.path.join(HERE, "init.sh"), "/init"), 0o755)
    own = os.path.join(folder, "run.cpio")
    initramfs.pack(root, own)
    image = os.path.join(folder, "image")
    with open(image, "wb") as target:
        for part in (base.archive, own):
            with open(part, "rb") as source:
                shutil.copyfileobj(source, target)
    return image


def _command_text(what):
    exports = "".join(f"export {name}={shlex.quote(value)}\n"
                      for name, value in what.environment.items())
    return f"{exports}{what.command}\n"


def _end_with_parent():
    """In the child: nobody is left to end it if this process is killed."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class _Boot:
    """One virtual machine."""

    def __init__(self, folder, kernel, image, what, accelerator):
        self._accelerator = accelerator
        self._status = os.path.join(folder, "status")
        self._console = os.path.join(folder, "console")
        self._errors = os.path.join(folder, "errors")
        for path in (self._status, self._console, self._errors):
            with open(path, "wb"):
                pass
        self._command = [
            what.qemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", "q35,graphics=off", *_accelerator_options(accelerator),
            "-smp", str(what.processors), "-m", str(what.memory_mib),
            "-kernel", kernel, "-initrd", image, "-append", " ".join(KERNEL_WORDS),
            "-serial", f"file:{self._console}", "-device", "virtio-serial-pci",
            "-chardev", "file,id=output,path=/dev/stdout",
            "-device", "virtserialport,chardev=output,name=output",
            "-chardev", f"file,id=status,path={self._status}",
            "-device", "virtserialport,chardev=status,name=status"]
        self._began = None
        self._qemu = None

    def run(self, deadline):
        """How the command ended; nothing if the guest died before it began."""
        started = time.monotonic()
        with open(self._errors, "wb") as errors:
            try:
                self._qemu = subprocess.Popen(self._command, stdin=subprocess.DEVNULL,
                                              stdout=subprocess.PIPE, stderr=errors,
                                              preexec_fn=_end_with_parent)
            except OSError as error:
                raise GuestFailed(f"cannot run {self._command[0]}: {error.strerror} (Debian's package "
                                  "qemu-system-x86 has it)") from None
        copier = threading.Thread(target=self._copy_output)
        copier.start()
        try:
            self._watch(started, deadline)
        finally:
            self._qemu.kill()
            self._qemu.wait()
            copier.join()
        return self._outcome(started, deadline)

    def _copy_output(self):
        while True:
            data = self._qemu.stdout.read1(65536)
            if not data:
                return
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def _watch(self, started, deadline):
        """Returns when the machine has ended or may not go on."""
        while self._qemu.poll() is None:
            now = time.monotonic()
            if self._began is None and "began" in self._words():
                self._began = now
            if now > deadline:
                return
            if self._began is None and (now > started + BOOT_LIMIT_S[self._accelerator]
                                        or KVM_STOPPED in self._said()):
                return
            if "exit" in self._words() or "failed" in self._words():
                self._wait_for_power_off()
                return
            time.sleep(0.05)

    def _wait_for_power_off(self):
        try:
            self._qemu.wait(timeout=5)
        except subprocess.TimeoutExpired:
            pass  # all is said

    def _outcome(self, started, deadline):
        words = self._words()
        began = self._began or (time.monotonic() if "began" in words else None)
        if "exit" in words[:-1]:
            status = int(words[words.index("exit") + 1])
            return Ended(status, began - started, time.monotonic() - began, self._accelerator)
        if time.monotonic() > deadline:
            phase = "while it booted" if began is None else "while the command ran"
            raise TookTooLong(f"the guest was ended by its deadline {phase}\n{self.describe()}")
        if "failed" in words:
            raise GuestFailed(f"the guest could not be set up\n{self.describe()}")
        if began is not None:
            raise GuestFailed(f"the guest died under the command\n{self.describe()}")
        return None

    def _words(self):
        with open(self._status, encoding="ascii", errors="replace") as file:
            return file.read().split()

    def _said(self):
        with open(self._errors, encoding="utf-8", errors="replace") as file:
            return file.read().strip()

    def last_words(self):
        """A line of what QEMU has said."""
        return (self._said().splitlines() or ["no reason given"])[0]

    def describe(self):
        """What QEMU and the kernel had to say."""
        with open(self._console, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        return "\n".join([f"--- {QEMU}", self._said(), "--- the guest's console",
                          *lines[-CONSOLE_LINES:], "---"])


def _accelerator_options(accelerator):
    if accelerator == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    # Without five levels of page tables, which cost an emulated processor time.
    return ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max,la57=off"]
