#!/usr/bin/env python3
"""Tests of the machinery that runs the guest, with a stand-in for QEMU that ends as it is told."""

import io
import os
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True

import initramfs  # noqa: E402
import machine  # noqa: E402

# Told by the command's text what to do on each boot; counts its boots in a file.
STAND_IN = """#!{python}
import re, sys, time
words = sys.argv
status = next(word for word in words if word.startswith("file,id=status,path=")).split("path=")[1]
with open({boots!r}, "a") as boots:
    boots.write("boot\\n")
with open({boots!r}) as boots:
    number = len(boots.readlines())
plan = {plans!r}[min(number, len({plans!r})) - 1]
with open(status, "w") as file:
    for step in plan:
        if step == "hang":
            time.sleep(60)
        elif step.startswith("say "):
            print(step[4:], flush=True)
        else:
            file.write(step + "\\n")
            file.flush()
            time.sleep(0.2)
"""


class FakeBase:
    """A base image without anything in it."""

    def __init__(self, folder):
        self.kernel = os.path.join(folder, "kernel")
        self.archive = os.path.join(folder, "base.cpio")
        for path in (self.kernel, self.archive):
            with open(path, "wb"):
                pass


class MachineTest(unittest.TestCase):
    """How runs end."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self._boots = os.path.join(self._folder.name, "boots")

    def run_with(self, *plans, seconds=20):
        qemu = os.path.join(self._folder.name, "qemu")
        with open(qemu, "w", encoding="ascii") as file:
            file.write(STAND_IN.format(python=sys.executable, boots=self._boots, plans=plans))
        os.chmod(qemu, stat.S_IRWXU)
        what = machine.Run(command="true", accelerator="tcg", qemu=qemu)
        return machine.run(FakeBase(self._folder.name), what, time.monotonic() + seconds)

    def boots(self):
        with open(self._boots, encoding="ascii") as file:
            return len(file.readlines())

    def test_status_comes_back(self):
        for status in (0, 1, 7, 255):
            self.assertEqual(self.run_with(["began", f"exit {status}"]).status, status)

    def test_a_guest_that_dies_before_the_command_is_booted_again(self):
        self.assertEqual(self.run_with([], [], ["began", "exit 3"]).status, 3)
        self.assertEqual(self.boots(), 3)

    def test_a_guest_that_never_boots_is_an_error(self):
        with self.assertRaises(machine.GuestFailed):
            self.run_with([])
        self.assertEqual(self.boots(), machine.BOOT_TRIES)

    def test_a_command_that_has_begun_is_not_run_again(self):
        with self.assertRaisesRegex(machine.GuestFailed, "died under the command"):
            self.run_with(["began"])
        self.assertEqual(self.boots(), 1)

    def test_a_guest_that_cannot_be_set_up_is_not_booted_again(self):
        with self.assertRaisesRegex(machine.GuestFailed, "set up"):
            self.run_with(["failed"])
        self.assertEqual(self.boots(), 1)

    def test_deadline(self):
        for plan in (["hang"], ["began", "hang"]):
            started = time.monotonic()
            with self.assertRaises(machine.TookTooLong):
                self.run_with(plan, seconds=1)
            self.assertLess(time.monotonic() - started, 10)

    def test_without_qemu(self):
        what = machine.Run(command="true", accelerator="tcg", qemu="/nonexistent/qemu")
        with self.assertRaisesRegex(machine.GuestFailed, "qemu-system-x86"):
            machine.run(FakeBase(self._folder.name), what, time.monotonic() + 5)


class InitramfsTest(unittest.TestCase):
    """Packing."""

    def test_records_are_padded_and_end_with_a_trailer(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "d"))
            with open(os.path.join(folder, "d", "f"), "wb") as file:
                file.write(b"12345")
            os.symlink("f", os.path.join(folder, "d", "l"))
            stream = io.BytesIO()
            archive = initramfs.Archive(stream)
            archive.add_tree(folder)
            archive.close()
        packed = stream.getvalue()
        self.assertEqual(len(packed) % 4, 0)
        self.assertEqual(packed.count(b"070701"), 4)
        for name in (b"d\0", b"d/f\0", b"d/l\0", b"TRAILER!!!\0"):
            self.assertIn(name, packed)

    def test_a_missing_library_is_named(self):
        listing = "\tlibnone.so.3 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n"
        real = subprocess.run
        subprocess.run = lambda *_, **__: subprocess.CompletedProcess([], 0, listing, "")
        try:
            with self.assertRaisesRegex(initramfs.MissingLibrary, "libnone.so.3"):
                initramfs.shared_libraries("program")
        finally:
            subprocess.run = real


if __name__ == "__main__":
    unittest.main()
