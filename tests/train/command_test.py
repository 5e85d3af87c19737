"""rondo-train as a person uses it.

usage: command_test.py COMMAND CHECK, where CHECK is the name of a function below.
"""

import html.parser
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

DEADLINE_SECONDS = 100
SMALL = ["--layers", "2", "--width", "32", "--heads", "2", "--context", "32", "--batch", "2", "--blas", "own",
         "--warmup", "5"]
command = ""
environment = {name: value for name, value in os.environ.items()
               if not name.startswith("RONDO_") and name not in ("RANK", "WORLD_SIZE")}


def write_text(folder):
    """A text that a small model learns something about in few steps."""
    path = pathlib.Path(folder) / "text"
    path.write_text("".join(f"{i % 97} bottles of beer on the wall, {i % 97} bottles of beer.\n" for i in range(600)),
                    encoding="ascii")
    return str(path)


def train(folder, *arguments):
    done = subprocess.run([command, *SMALL, "--data", write_text(folder), *arguments], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=DEADLINE_SECONDS, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def losses(text):
    """By step, as printed."""
    return dict(re.findall(r"^step +(\d+) of \d+ +loss (\S+)", text, re.MULTILINE))


def compared_and_reported():
    """The loss falls, follows one rank's to 1e-4, and the page shows it."""
    with tempfile.TemporaryDirectory() as folder:
        text = train(folder, "--ranks", "2", "--parallel", "zero3", "--recompute", "--steps", "30", "--compare",
                     "--report", "report.html", "--sample", "30", "--prompt", "9 b")
        found = losses(text)
        assert list(found) == ["10", "20", "30"], text
        assert float(found["30"]) < 0.9 * float(found["10"]), text
        difference = float(re.search(r"largest difference of the losses: (\S+) of the loss", text)[1])
        assert 0 < difference < 1e-4, text
        assert re.search(r"^sample: 9 b", text, re.MULTILINE), text
        for words in ("ZeRO stage 3 over 2 ranks", "communication exposed", "memory of tensors", "  rank 1"):
            assert words in text, (words, text)
        check_page((pathlib.Path(folder) / "report.html").read_text(encoding="utf-8"))


class Page(html.parser.HTMLParser):
    """Counts the points of each curve."""

    def __init__(self):
        super().__init__()
        self.points = []

    def handle_starttag(self, tag, attrs):
        if tag == "polyline":
            self.points.append(len(dict(attrs)["points"].split()))


def check_page(text):
    page = Page()
    page.feed(text)
    assert page.points == [30, 30, 30, 30], page.points  # loss twice, gradient, tokens per second


def every_stage():
    """Threads and processes, all stages: the same losses, digit by digit."""
    with tempfile.TemporaryDirectory() as folder:
        common = ("--ranks", "3", "--steps", "4", "--log-every", "1", "--sample", "0", "--micro-batches", "2")
        wanted = losses(train(folder, *common, "--parallel", "dp"))
        assert len(wanted) == 4
        for stage in ("zero1", "zero2", "zero3"):
            assert losses(train(folder, *common, "--parallel", stage)) == wanted, stage
        assert losses(train(folder, *common, "--parallel", "zero2", "--processes")) == wanted
        assert losses(train(folder, *common, "--parallel", "dp", "--bucket-bytes", "1000", "--no-overlap")) == wanted


def children(process):
    """The ranks' processes, in order of their start."""
    listed = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    return [int(child) for child in listed.split()]


def killed_and_resumed():
    """A rank is killed: the others stop and name it; another run goes on where the last checkpoint is."""
    with tempfile.TemporaryDirectory() as folder:
        common = ["--parallel", "zero2", "--checkpoints", "saved", "--checkpoint-every", "5", "--log-every", "1",
                  "--sample", "0", "--steps"]
        process = subprocess.Popen([command, *SMALL, "--data", write_text(folder), "--ranks", "3", "--processes",
                                    *common, "100000"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said = ""
            while "checkpoint saved/step-00000010" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            os.kill(children(process.pid)[1], signal.SIGKILL)
            rest, _ = process.communicate(timeout=DEADLINE_SECONDS)
        finally:
            process.kill()
        assert process.returncode == 1, rest
        assert "rank 1 was killed by signal 9" in rest, rest
        for rank in (0, 2):
            assert re.search(rf"^rondo-train: rank {rank}: .*rank 1.*process has ended", rest, re.MULTILINE), rest
        last = sorted((pathlib.Path(folder) / "saved").glob("step-*/manifest"))[-1].parent.name
        steps = int(last.split("-")[1]) + 3
        resumed = train(folder, "--ranks", "2", *common, str(steps), "--resume")
        assert f"going on from saved/{last}" in resumed, resumed
        assert len(losses(resumed)) == 3, resumed


def compressed():
    """Gradients in int8: a quarter of the bytes, nearly the same losses; resuming keeps what was rounded away."""
    with tempfile.TemporaryDirectory() as folder:
        plain = losses(train(folder, "--ranks", "2", "--steps", "30", "--sample", "0", "--parallel", "dp"))
        for stage in ("dp", "zero2"):
            common = ("--ranks", "2", "--log-every", "1", "--sample", "0", "--parallel", stage, "--codec", "int8",
                      "--checkpoints", stage, "--checkpoint-every", "20", "--steps", "30")
            text = train(folder, *common)
            sent, of = re.search(r"gradients sent as int8: (\S+) MB of (\S+) MB a step", text).groups()
            assert float(sent) < 0.3 * float(of), text
            found = losses(text)
            assert abs(float(found["30"]) - float(plain["30"])) <= 0.02 * float(plain["30"]), (found, plain)
            (pathlib.Path(folder) / stage / "step-00000030" / "manifest").unlink()
            again = losses(train(folder, *common, "--resume"))
            assert again == {step: loss for step, loss in found.items() if int(step) > 20}, (again, found)


def kept_for_long():
    """200 steps follow one rank's to 1e-4; after 500, int8 with error feedback is within 2 % of no compression."""
    with tempfile.TemporaryDirectory() as folder:
        text = train(folder, "--ranks", "4", "--parallel", "zero3", "--steps", "200", "--sample", "0", "--compare")
        difference = float(re.search(r"largest difference of the losses: (\S+) of the loss", text)[1])
        assert 0 < difference < 1e-4, text

        def late_loss(*arguments):
            """Mean of the last 50 of 500 steps, as single batches differ more than runs do."""
            found = losses(train(folder, "--ranks", "4", "--steps", "500", "--log-every", "1", "--sample", "0",
                                 *arguments))
            return sum(float(found[str(step)]) for step in range(451, 501)) / 50
        plain = late_loss("--parallel", "dp")
        for stage in ("dp", "zero2"):
            coded = late_loss("--parallel", stage, "--codec", "int8")
            assert abs(coded - plain) <= 0.02 * plain, (stage, coded, plain)


def resumed_exactly():
    """With the same ranks, resuming continues the same losses; with others and another stage, close ones."""
    with tempfile.TemporaryDirectory() as folder:
        common = ("--log-every", "1", "--sample", "0", "--checkpoints", "saved", "--checkpoint-every", "6",
                  "--steps", "12", "--ranks")
        whole = losses(train(folder, *common, "4", "--parallel", "zero2"))
        (pathlib.Path(folder) / "saved" / "step-00000012").rename(pathlib.Path(folder) / "last")
        again = train(folder, *common, "4", "--parallel", "zero3", "--resume")
        assert "going on from saved/step-00000006" in again, again
        wanted = {step: loss for step, loss in whole.items() if int(step) > 6}
        assert losses(again) == wanted, (again, whole)
        (pathlib.Path(folder) / "saved" / "step-00000012" / "manifest").unlink()
        other = losses(train(folder, *common, "2", "--micro-batches", "2", "--parallel", "dp", "--resume"))
        assert other.keys() == wanted.keys(), other
        for step, loss in wanted.items():
            assert abs(float(other[step]) - float(loss)) <= 2e-4 * float(loss), (step, other, whole)
        check_export(folder)


def check_export(folder):
    file = pathlib.Path(folder) / "model.safetensors"
    subprocess.run([command, "export", "saved", str(file)], cwd=folder, env=environment, check=True,
                   timeout=DEADLINE_SECONDS)
    data = file.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    assert header["block1.up.weight"]["shape"] == [32, 128], header
    assert max(tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__") == \
        len(data) - 8 - length


def wrong_arguments():
    """Refused with a reason, before anything is started."""
    for arguments, words in ((["--heads", "5"], "--heads must divide --width"),
                             (["--parallel", "zero4"], "--parallel"),
                             (["--resume"], "--resume needs --checkpoints"),
                             (["--data", "/nowhere/text", "--ranks", "2"], "cannot read /nowhere/text")):
        done = subprocess.run([command, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=DEADLINE_SECONDS, check=False)
        assert done.returncode != 0 and words in done.stderr, (arguments, done.stdout, done.stderr)


if __name__ == "__main__":
    checks = {check.__name__: check for check in (compared_and_reported, compressed, every_stage, kept_for_long,
                                                  killed_and_resumed, resumed_exactly, wrong_arguments)}
    if len(sys.argv) != 3 or sys.argv[2] not in checks:
        sys.exit(f"{__doc__}\nCHECK: {' '.join(checks)}")
    command = os.path.abspath(sys.argv[1])
    checks[sys.argv[2]]()
