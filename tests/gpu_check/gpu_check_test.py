"""Runs rondo-gpu-check on emulated GPUs and looks at what it reports, above all of what is wrong.

usage: gpu_check_test.py PROGRAM DRIVER_FOLDER NCCL_FOLDER CUBLAS_FOLDER CHECK, where CHECK is the
name of a function below. DRIVER_FOLDER has the driver double, the others those of NCCL and cuBLAS.
"""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time

DEADLINE_SECONDS = 100
PASSED, FAILED, USAGE, NOTHING_RUN, CUT = range(5)
program = ""
driver_folder = ""
nccl_folder = ""
cublas_folder = ""


def environment(gpus=1, libraries=(), **variables):
    folders = [*libraries, driver_folder]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(folders), "RONDOTEST_GPUS": str(gpus),
            "RONDO_LOG_LEVEL": "error", **variables}


def command(report, sections, words=(), tiny=True):
    extent = ["--tiny"] if tiny else []
    return [program, "--json", report, "--sections", ",".join(sections), *extent, *words]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def check(*sections, expect=PASSED, words=(), tiny=True, **options):
    """The report of a run of these sections, and each by its name."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        done = subprocess.run(command(path, sections, words, tiny), capture_output=True, text=True,
                              timeout=DEADLINE_SECONDS, env=environment(**options), check=False)
        text = done.stdout + done.stderr
        assert done.returncode == expect, f"status {done.returncode}, expected {expect}\n{text}"
        report = load(path)
        assert os.listdir(folder) == ["report.json"], os.listdir(folder)
    assert [one["name"] for one in report["sections"]] == list(sections), text
    return report, {one["name"]: one for one in report["sections"]}


def all_done(section):
    checks = section["checks"]
    return (section["state"] == "passed" and checks["planned"] == checks["passed"] > 0
            and checks["failed"] == 0)


def near(one, other):
    return abs(one - other) <= 1e-6 * abs(other)


def correctness():
    """All is right, is said to be emulated, and is all that was planned."""
    report, found = check("smoke", "matrix2", "graphs")
    assert report["emulated"] and report["complete"] and report["verdict"] == "passed", report
    assert [device["name"] for device in report["devices"]] == ["emulated"], report
    assert all(all_done(section) for section in found.values()), report
    assert "share" in report["placement"]
    assert "one GPU" in found["graphs"]["not_run"][0]["reason"], found["graphs"]


def several_gpus():
    """With several GPUs ranks are spread, and several are captured into graphs."""
    report, found = check("smoke", "graphs", "latency", gpus=4)
    assert len(report["devices"]) == 4 and all_done(found["smoke"]) and all_done(found["graphs"])
    assert "not_run" not in found["graphs"], found["graphs"]
    in_graph = [row for row in found["latency"]["rows"] if row["mode"] == "in a graph"]
    assert [row["ranks"] for row in in_graph] == [4], in_graph


def processes():
    """Ranks that are processes are right, share the GPU's memory, and a wrong bit is found there."""
    words = ("--patience", "20", "--seconds", "200")
    _, found = check("processes", words=words)
    assert all_done(found["processes"]), found
    assert [(row["ranks"], row["transport"]) for row in found["processes"]["rows"]] == [
        (2, "cuda_ipc"), (4, "cuda_ipc"), (8, "cuda_ipc")], found
    _, found = check("processes", expect=FAILED, words=words, RONDOTEST_SPOIL_COPY="5")
    assert "wrong result" in found["processes"]["failures"][0], found


def figures():
    """Bandwidths follow from times, of which the double has but one: 1 ms for each batch."""
    _, found = check("latency", "bandwidth", words=("--seconds", "400"))
    for row in found["latency"]["rows"] + found["bandwidth"]["rows"]:
        time_of = row["time"]
        assert time_of["fastest_us"] <= time_of["median_us"] <= time_of["slowest_us"], row
        assert time_of["batches"] >= 3 and time_of["calls_per_batch"] >= 1, row
    bus = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n,
           "reduce_scatter": lambda n: (n - 1) / n, "broadcast": lambda n: 1}
    rows = found["bandwidth"]["rows"]
    assert {row["operation"] for row in rows} == set(bus) and {row["ranks"] for row in rows} == {
        2, 4, 8}, rows
    for row in rows:
        assert near(row["time"]["median_us"], 1000 / row["time"]["calls_per_batch"]), row
        assert near(row["algbw_gbs"], row["size_bytes"] / row["time"]["median_us"] / 1e3), row
        assert near(row["busbw_gbs"], row["algbw_gbs"] * bus[row["operation"]](row["ranks"])), row
        assert near(row["share_of_copy"], row["copy"]["median_us"] / row["time"]["median_us"]), row


def nccl():
    """NCCL is measured where it is, beside Rondo; without it the section says why not."""
    _, found = check("nccl", libraries=[nccl_folder])
    rows = found["nccl"]["rows"]
    assert rows[0]["nccl_version"] == 22700, rows
    assert [row["library"] for row in rows[1:]] == ["nccl", "rondo"] * 2, rows
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "libnccl.so.2"), "w", encoding="ascii") as file:
            file.write("no library")
        report, found = check("smoke", "nccl", libraries=[folder])
    assert found["nccl"]["state"] == "not run" and "libnccl.so.2" in found["nccl"]["reason"], report
    assert report["verdict"] == "passed", report


def products():
    """cuBLAS multiplies right where it is; a wrong element is found; without it the section says why."""
    _, found = check("products", libraries=[cublas_folder])
    assert all_done(found["products"]) and found["products"]["checks"]["planned"] == 8, found
    assert found["products"]["rows"] == [{"library": "cuBLAS 130000"}], found
    _, found = check("products", libraries=[cublas_folder], expect=FAILED, RONDOTEST_WRONG_PRODUCT="3")
    assert found["products"]["checks"]["failed"] == 1, found
    assert "wrong result" in found["products"]["failures"][0], found
    with tempfile.TemporaryDirectory() as folder:
        for version in (12, 13):
            with open(os.path.join(folder, f"libcublas.so.{version}"), "w", encoding="ascii") as file:
                file.write("no library")
        report, found = check("smoke", "products", libraries=[folder])
    assert found["products"]["state"] == "not run" and "cuBLAS" in found["products"]["reason"], report


def wrong_bit():
    """One wrong bit in one result is found, and nothing else is called wrong."""
    report, found = check("smoke", "graphs", expect=FAILED, RONDOTEST_SPOIL_COPY="5")
    assert report["verdict"] == "failed", report
    checks = found["smoke"]["checks"]
    assert (checks["failed"], checks["passed"]) == (1, checks["planned"] - 1), checks
    assert "wrong result" in found["smoke"]["failures"][0], found["smoke"]
    assert found["graphs"]["state"] == "failed", found["graphs"]
    assert "must be" in found["graphs"]["failures"][0], found["graphs"]


def failing_call():
    """A call of the driver that fails is reported in its words, and the checks go on after it."""
    _, found = check("smoke", expect=FAILED, RONDOTEST_FAIL_CALL="cuLaunchKernel:20:719")
    checks = found["smoke"]["checks"]
    assert (checks["failed"], checks["passed"]) == (1, checks["planned"] - 1), checks
    assert "DOUBLE_ERROR_719" in found["smoke"]["failures"][0], found["smoke"]


def stuck():
    """What never ends is ended, told, and does not keep the next section from running."""
    begun = time.monotonic()
    _, found = check("smoke", "graphs", expect=FAILED, RONDOTEST_STUCK_COPY="30",
                     words=("--patience", "1", "--seconds", "30"))
    assert time.monotonic() - begun < 40
    assert "did not end" in found["smoke"]["failures"][-1], found["smoke"]
    assert all_done(found["graphs"]), found["graphs"]


def crash():
    """A section whose process dies has failed; the next one runs."""
    _, found = check("smoke", "graphs", expect=FAILED, RONDOTEST_CRASH_COPY="30")
    assert found["smoke"]["state"] == "failed", found["smoke"]
    assert "signal 6" in found["smoke"]["failures"][-1], found["smoke"]
    assert all_done(found["graphs"]), found["graphs"]


def cut():
    """A run that is killed leaves a report of what it had got to, and of no more."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        # The second section is stuck until it is killed.
        words = command(path, ["matrix2", "matrix8", "latency"], ("--seconds", "2000"))
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=environment(RONDOTEST_STUCK_COPY="600")) as process:
            end = time.monotonic() + DEADLINE_SECONDS
            while time.monotonic() < end:
                time.sleep(0.1)
                if os.path.exists(path) and load(path)["sections"][1].get("checks", {}).get(
                        "passed", 0) > 0:
                    break
            process.send_signal(signal.SIGKILL)
        report = load(path)
    assert [(one["name"], one["state"]) for one in report["sections"]] == [
        ("matrix2", "passed"), ("matrix8", "cut"), ("latency", "not run")], report
    checks = report["sections"][1]["checks"]
    assert 0 < checks["passed"] < checks["planned"], checks
    assert not report["complete"] and report["verdict"] == "cut", report


def out_of_time():
    """When the time is used up, what was not run is called so, and the status says it."""
    report, found = check("matrix8", "latency", expect=CUT, tiny=False, words=("--seconds", "1"))
    assert found["matrix8"]["state"] == "cut" and found["matrix8"]["reason"] == "out of time"
    assert found["matrix8"]["checks"]["passed"] < found["matrix8"]["checks"]["planned"], report
    assert report["complete"] and report["verdict"] == "cut", report


def no_driver():
    """Without a driver, or a GPU, nothing is run, and that is neither success nor failure."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "libcuda.so.1"), "w", encoding="ascii") as file:
            file.write("no library")
        report, _ = check("smoke", "nccl", expect=NOTHING_RUN, libraries=[folder])
    assert "no CUDA driver" in report["sections"][0]["reason"], report
    assert report["verdict"] == "not run" and report["devices"] == [], report
    report, _ = check("smoke", expect=NOTHING_RUN, gpus=0)
    assert "no GPU" in report["sections"][0]["reason"], report


def sanitizer_that(folder, script):
    """A compute-sanitizer in `folder` that does what `script` says with the command in "$@"."""
    path = os.path.join(folder, "compute-sanitizer")
    with open(path, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\n[ "$1" = --version ] && exit 0\nshift 4\n' + script)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return {"PATH": folder + ":" + os.environ["PATH"]}


def sanitizer():
    """The tool's word counts: clean, findings, or that it does not work."""
    with tempfile.TemporaryDirectory() as folder:
        clean = sanitizer_that(folder, '"$@"; echo "========= ERROR SUMMARY: 0 errors"\n')
        _, found = check("memcheck", **clean, words=("--seconds", "200"))
        assert found["memcheck"]["state"] == "passed", found
        wrong = sanitizer_that(folder, 'echo "========= Invalid __global__ read"; exit 86\n')
        _, found = check("synccheck", expect=FAILED, **wrong)
        assert "Invalid __global__ read" in found["synccheck"]["failures"][0], found
        broken = sanitizer_that(folder, 'echo "cannot attach"; exit 255\n')
        _, found = check("racecheck", expect=NOTHING_RUN, **broken)
        assert "cannot attach" in found["racecheck"]["reason"], found


def usage():
    """Sections that there are not are refused."""
    done = subprocess.run([program, "--sections", "everything"], capture_output=True, text=True,
                          timeout=DEADLINE_SECONDS, env=environment(), check=False)
    assert done.returncode == USAGE and "matrix2" in done.stderr, done


if __name__ == "__main__":
    program, driver_folder, nccl_folder, cublas_folder, name = sys.argv[1:]
    globals()[name]()
    print(f"{name}: as promised")
