"""Runs the command as a user does and checks what it promises.

usage: command_test.py COMMAND CHECK, where CHECK is the name of a function below.
"""

import csv
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

OPERATIONS = ["all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "barrier",
              "all_to_all", "gather", "scatter"]
WITH_SIZES = [operation for operation in OPERATIONS if operation != "barrier"]
DEADLINE_SECONDS = 280
command = ""


def run(*words, expect=0, **variables):
    """The command's output; a test failure if it ends otherwise than expected."""
    done = subprocess.run([command, *words], capture_output=True, text=True,
                          timeout=DEADLINE_SECONDS, env={**os.environ, **variables}, check=False)
    assert done.returncode == expect, (
        f"rondo {' '.join(words)}: status {done.returncode}, expected {expect}\n"
        f"{done.stdout}{done.stderr}")
    return done


def table_rows(text):
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


def perf_sweep():
    """Every operation, type and reduction gives right results, whatever the buffers' alignment."""
    text = run("perf", *OPERATIONS, "--threads", "3", "-b", "0", "-e", "300K", "-i", "76804",
               "-n", "1", "-w", "0", "-T", "100").stdout
    rows = table_rows(text)
    assert len(rows) == len(WITH_SIZES) * 4 + 1, text
    assert all(row[8] == "0" and row[12] in ("0", "N/A") for row in rows), text
    assert "# Out of bounds values : 0 OK" in text
    assert "Avg bus bandwidth" in text
    run("perf", *WITH_SIZES, "--threads", "3", "-b", "1200", "-e", "1200", "-d", "all", "-o",
        "all", "-r", "all", "-n", "1", "-w", "0", "--unalign", "8", "-T", "100")
    run("perf", "all_reduce_perf", "--threads", "5", "-b", "100K", "-e", "100K", "-z", "1", "-N",
        "2", "-n", "2", "-w", "1", "--reproducible", "-a", "3", "-T", "100")


def perf_buffers():
    """Every kind of buffers gives right results, among threads and processes, and is told."""
    for kind, told in (("malloc", "of malloc"), ("rondo", "of rondoMemAlloc"),
                       ("registered", "of malloc, registered")):
        words = ["--buffers", kind, "-b", "0", "-e", "200K", "-i", "100004", "-n", "2", "-w", "1",
                 "-T", "100"]
        for ranks in (["--threads", "2"], ["--ranks", "2"]):
            text = run("perf", *WITH_SIZES, "--unalign", "8", *words, *ranks).stdout
            assert f"\n# buffers: {told}\n" in text, text
            assert "# Out of bounds values : 0 OK" in text, text
        lines = run("perf", "all_reduce", *words, "--jsonl", "-").stdout.splitlines()
        measured = [json.loads(line) for line in lines[:-1]]
        assert len(measured) == 7 and all(line["buffers"] == kind for line in measured), lines
    done = run("perf", "barrier", "--buffers", "pinned", expect=2)
    assert "malloc, rondo or registered" in done.stderr, done.stderr


def perf_adapters():
    """Registered buffers are sent by adapters; LD_LIBRARY_PATH has the double of libibverbs."""
    for kind in ("malloc", "rondo", "registered"):
        text = run("perf", "all_reduce", "all_to_all", "--buffers", kind, "--ranks", "2", "-b", "64K",
                   "-e", "4M", "-f", "8", "-n", "2", "-w", "1", "-T", "100",
                   RONDO_TRANSPORT="verbs").stdout
        assert "transport verbs," in text and "# Out of bounds values : 0 OK" in text, text
    limit = 6 << 20  # enough for slots, and not for a buffer
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))
    done = run("perf", "all_reduce", "--buffers", "registered", "--ranks", "2", "-b", "8M", "-e", "8M",
               "-n", "1", RONDO_TRANSPORT="verbs", RONDOTEST_VERBS_MEMLOCK="1")
    assert done.stderr.count("is copied first") == 2, done.stderr  # once by each rank


def perf_blocks():
    """Blocks of different sizes, and messages, give right results, even and uneven."""
    names = ["all_gather_v", "reduce_scatter_v", "all_to_all_v", "gather_v", "scatter_v"]
    for uneven in ([], ["--uneven"]):
        text = run("perf", *names, "send_recv", "--threads", "4", "-b", "0", "-e", "300K", "-i",
                   "76804", "-n", "2", "-w", "1", "-r", "all", "-T", "100", *uneven).stdout
        assert "# Out of bounds values : 0 OK" in text, text
        rows = table_rows(text)
        # gather and scatter from each of 4 ranks.
        assert len(rows) == (3 + 2 * 4 + 1) * 4, text
        assert all(row[8] == "0" for row in rows), text
    only_once = run("perf", "sendrecv_perf", "-b", "1K", "-e", "1K", "-n", "1", "--jsonl", "-").stdout
    lines = [json.loads(line) for line in only_once.splitlines()]
    assert [line["kind"] for line in lines] == ["run", "measurement", "summary"]
    assert lines[1]["operation"] == "send_recv" and lines[1]["root"] == -1
    assert abs(lines[1]["busbw_gbs"] - lines[1]["algbw_gbs"]) < 1e-9
    refused = run("perf", "barrier_v", expect=2).stderr
    assert "no operation" in refused and "all_gather_v" in refused and "send_recv" in refused
    assert "nothing to tune" in run("tune", "gather_v", expect=2).stderr


def perf_output():
    """JSON lines and CSV hold the table's numbers."""
    with tempfile.TemporaryDirectory() as folder:
        lines_file, csv_file = os.path.join(folder, "out.jsonl"), os.path.join(folder, "out.csv")
        text = run("perf", "all_gather", "-b", "64", "-e", "1K", "-n", "2", "--jsonl", lines_file,
                   "--csv", csv_file).stdout
        with open(lines_file, encoding="ascii") as file:
            lines = [json.loads(line) for line in file]
        with open(csv_file, encoding="ascii", newline="") as file:
            records = list(csv.DictReader(file))
    assert [line["kind"] for line in lines] == ["run"] + 10 * ["measurement"] + ["summary"]
    assert len(table_rows(text)) == 5 and len(records) == 10
    for line, record in zip(lines[1:], records):
        assert str(line["size_bytes"]) == record["size_bytes"]
        assert line["wrong"] == 0 and record["wrong"] == "0"
        assert line["time_min_us"] <= line["time_avg_us"] <= line["time_max_us"]
        gbs = line["size_bytes"] / line["time_us"] / 1e3
        assert abs(line["algbw_gbs"] - gbs) < 1e-9 and abs(line["busbw_gbs"] - gbs / 2) < 1e-9
    only_json = run("perf", "barrier", "-c", "0", "--jsonl", "-").stdout
    assert [json.loads(line)["kind"] for line in only_json.splitlines()] == [
        "run", "measurement", "summary"]


def registry():
    lines = run("explain", "--list").stdout.splitlines()
    return [tuple(line.split()[:2]) for line in lines[1:]]


def perf_algorithms():
    """Every algorithm gives right results, and what it cannot do is said below the table."""
    text = run("perf", *OPERATIONS, "--algorithm", "all", "--threads", "3", "-b", "24", "-e", "24K",
               "-f", "1000", "-n", "1", "-w", "0", "-T", "100").stdout
    for operation, algorithm in registry():
        assert f"# {operation}, algorithm {algorithm}\n" in text
    text = run("perf", "all_reduce", "--algorithm", "ring", "-d", "all", "-b", "64", "-e", "64",
               "-n", "1").stdout
    assert "# not run: all_reduce of fp8_e4m3 sum: algorithm ring" in text, text
    done = run("perf", "all_reduce", "--algorithm", "ring", "-d", "f8e5m2", "-b", "64", "-e", "64",
               expect=3)
    assert "nothing could be measured" in done.stderr


def usage():
    """Wrong command lines end with status 2 and a line that says what to do."""
    for words, hint in [
            ([], "subcommand"),
            (["perf"], "OPERATION"),
            (["perf", "allreduce"], "all_reduce"),
            (["perf", "all_reduce", "-g", "2"], "--threads"),
            (["perf", "all_reduce", "--frobnicate"], "--frobnicate"),
            (["perf", "all_reduce", "-b", "1X"], "64K"),
            (["perf", "all_reduce", "-b", "2M", "-e", "1M"], "larger than"),
            (["perf", "all_reduce", "-d", "quad"], "bfloat16"),
            (["perf", "all_reduce", "-e", "1000G", "-b", "1000G"], "available"),
            (["perf", "all_reduce", "--chunk-bytes", "100"], "multiple of 64"),
            (["perf", "broadcast", "--algorithm", "ring"], "chain"),
            (["explain", "all_reduce"], "SIZE"),
            (["explain", "all_reduce", "1M", "--rank", "9"], "0 to 3"),
            (["explain", "all_reduce", "1M", "-d", "bool", "-o", "avg"], "no meaning")]:
        done = run(*words, expect=2)
        assert hint in done.stderr, f"rondo {' '.join(words)}: {done.stderr}"
        assert done.stdout == "", done.stdout
    assert re.fullmatch(r"rondo \d+\.\d+\.\d+\n", run("--version").stdout)
    assert "perf" in run("--help").stdout and "--minbytes" in run("perf", "--help").stdout


def explain():
    """Every algorithm can be explained, for few ranks and for many."""
    rows = registry()
    assert {operation for operation, _ in rows} == set(OPERATIONS)
    for operation, algorithm in rows:
        if algorithm == "two_level":
            continue
        for ranks in range(1, 6):
            for size in ("64", "300K"):
                text = run("explain", operation, size, "--ranks", str(ranks), "--algorithm",
                           algorithm, "-r", "0").stdout
                assert f"algorithm  {algorithm}" in text
                assert ("hop 1" in text) == (ranks > 1), text
    assert "more ranks" in run("explain", "all_reduce", "1G", "--ranks", "64").stdout
    assert "rank 7, " in run("explain", "reduce", "1M", "--ranks", "8", "--all").stdout
    explain_two_levels([operation for operation, algorithm in rows if algorithm == "two_level"])


def explain_two_levels(operations):
    """The stages are told, among which ranks, and why there are none on one host."""
    assert operations
    for operation in operations:
        text = run("explain", operation, "4M", "--ranks", "6", "--hosts", "2", "--all").stdout
        assert "algorithm  two_level" in text and "hosts      2 with 3 ranks each" in text, text
        assert re.search(r"stage \d    inside each host: direct", text), text
        assert re.search(r"stage \d    between hosts: ", text), text
        assert re.search(r"\n *2 +\d +0 1 2 ", text) and re.search(r"\n *2 +\d +2 5 ", text), text
        text = run("explain", operation, "4M", "--ranks", "6").stdout
        assert re.search(r"two_level .* several hosts", text), text
    text = run("explain", "all_reduce", "4M", "--ranks", "5", "--hosts", "2").stdout
    assert "2 with 2 to 3 ranks" in text, text
    run("explain", "all_reduce", "4M", "--ranks", "5", "--hosts", "6", expect=2)


def explain_agrees():
    """What explain says is what a communicator does."""
    for operation in OPERATIONS:
        for size in ("4K", "1200K"):
            text = run("explain", operation, size, "--ranks", "3").stdout
            said = (re.search(r"algorithm  (\w+)", text)[1], re.search(r"channels   (\d+)", text)[1],
                    re.search(r"chunk      at most (\d+)", text)[1])
            log = run("perf", operation, "--threads", "3", "-b", size, "-e", size, "-n", "1", "-w",
                      "0", "-T", "100", RONDO_LOG_LEVEL="debug").stderr
            done = re.findall(rf"{operation} type .* uses (\w+) channels (\d+) chunk elements (\d+)",
                              log)
            assert done and set(done) == {said}, (operation, size, said, log)


def explain_workers():
    """Ranks that have several cores of a machine share large calls among workers."""
    for ranks, size, said in ((2, "64K", "1 threads of each rank, which could have 15"),
                              (2, "64M", "15 threads of each rank, which could have 15"),
                              (8, "64M", "2 threads of each rank, which could have 2")):
        text = run("explain", "all_reduce", size, "--ranks", str(ranks), "--machine",
                   "package:2 numa:2 core:16 pu:2").stdout
        assert f"  workers    {said}\n" in text, text
    text = run("explain", "all_reduce", "64M", "--ranks", "64", "--machine",
               "package:2 numa:2 core:16 pu:2").stdout
    assert "ranks 64 on 128 processors" in text and "workers" not in text, text


def explain_topology():
    """The machine, a suggestion for every rank within what is allowed, and a ring of all ranks."""
    mine = {min(os.sched_getaffinity(0))}
    os.sched_setaffinity(0, mine)
    text = run("explain", "--topology", "--ranks", "3").stdout
    assert re.search(rf": 1 processors may be used: {min(mine)}\n", text), text
    ranks = [line.split() for line in text.splitlines() if re.match(r"  \d+  ", line)]
    assert len(ranks) == 3 and all(row[-1] == str(min(mine)) for row in ranks), text
    assert "0 -> 1 -> 2 -> 0\n  hops: 3 in a core\n" in text, text
    if "by hwloc" in text:
        text = run("explain", "--topology", "--machine", "package:2 l3:2 core:2 pu:2").stdout
        assert re.search(r"  2 +8 +0 +8 +- +- +- +8-11\n", text), text
        assert "hops: 2 in a node, 2 in the host" in text, text
        assert "\nworkers\n  2 of a rank at most\n" in text, text
        explain_workers()
        done = run("explain", "--topology", "--machine", "nonsense", expect=2)
        assert "--machine" in done.stderr
    run("explain", "--topology", "--ranks", "0", expect=2)


def tune():
    """The table holds every algorithm and chunk, and plans follow it; ranks' tables must agree."""
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "table.txt")
        words = ["all_reduce", "broadcast", "-b", "4K", "-e", "16K", "--chunks", "4K,8K",
                 "--rounds", "1", "-o", table]
        for ranks in (["--threads", "3"], ["--ranks", "2"]):
            text = run("tune", *words, *ranks).stdout
            assert re.search(r"within 10 % of the fastest in \d of 6 cells", text), text
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file if not line.startswith("#")]
            names = {(row[0], row[3]) for row in rows}
            # On one host there are no two levels.
            expected = {row for row in registry()
                        if row[0] in ("all_reduce", "broadcast") and row[1] != "two_level"}
            assert names == expected, names
            assert len(rows) == len(expected) * 5, rows  # no chunk of 8 KiB in 4 KiB
        with open(table, "w", encoding="ascii") as file:
            file.write("all_reduce 2 8192 ring 4096 1.5\nall_reduce 2 8192 tree 8192 2.5\n")
        text = run("explain", "all_reduce", "8K", "--ranks", "2", RONDO_TUNING_FILE=table).stdout
        assert "algorithm  ring" in text and "(4 KiB)" in text, text
        assert "measured   1.5 us" in text and re.search(r"  tree +[\d.]+ +2\.5 ", text), text
        run("perf", "all_reduce", "--ranks", "2", "-b", "8K", "-e", "8K", RONDO_TUNING_FILE=table)
        done = run("tune", *words, expect=2, RONDO_ALGORITHM="all_reduce:ring")
        assert "RONDO_ALGORITHM is set" in done.stderr, done.stderr
        done = run("perf", "all_reduce", expect=2, RONDO_TUNING_FILE=folder + "/none")
        assert "RONDO_TUNING_FILE" in done.stderr and "cannot be read" in done.stderr, done.stderr
        done = run("run", "-n", "2", "--", "sh", "-c",
                   f"[ $RONDO_RANK = 0 ] && export RONDO_TUNING_FILE={table}; "
                   f"exec {command} perf all_reduce -b 8K -e 8K", expect=3)
        assert "ranks 0 and 1 differ in their settings" in done.stderr, done.stderr
        assert "RONDO_TUNING_FILE" in done.stderr, done.stderr


def perf_processes():
    """Ranks that are processes: by the command itself, and under whatever has started them."""
    sweep = ["-b", "0", "-e", "100K", "-i", "50000", "-n", "2", "-w", "1"]
    text = run("perf", *OPERATIONS, "--ranks", "3", *sweep, "-T", "100").stdout
    assert "# ranks 3 (processes), transport shm," in text, text
    rows = table_rows(text)
    assert len(rows) == len(WITH_SIZES) * 3 + 1, text
    assert all(row[8] == "0" and row[12] in ("0", "N/A") for row in rows), text
    started = run("run", "-n", "2", "--no-prefix", "--", command, "perf", "all_gather", *sweep).stdout
    assert "# ranks 2 (processes)" in started and len(table_rows(started)) == 3, started
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.jsonl")
        run("perf", "broadcast", "--ranks=2", "-r", "all", *sweep, "--jsonl", path)
        with open(path, encoding="ascii") as file:
            lines = [json.loads(line) for line in file]
        assert lines[0]["rank_kind"] == "processes" and lines[0]["ranks"] == 2
        assert all(line.get("transport", "shm") == "shm" for line in lines), lines
        assert len(lines) == 2 + 2 * 3 * 2 and all(line.get("wrong", 0) == 0 for line in lines)
    text = run("perf", "all_reduce", "--ranks", "2", "--algorithm", "all", "-d", "all", "-b", "64", "-e",
               "64", "-n", "1", "-w", "0").stdout
    assert "# not run: all_reduce of fp8_e4m3 sum: algorithm ring" in text, text
    over_tcp = run("perf", "barrier", "--ranks", "2", "-n", "1", RONDO_TRANSPORT="tcp").stdout
    assert "# ranks 2 (processes), transport tcp," in over_tcp, over_tcp
    # Ranks 0 and 1 on one host, 2 on another.
    hosts = ["sh", "-c", 'RONDO_HOST_ID=$((RONDO_RANK / 2)) exec "$@"', "sh"]
    both = run("run", "-n", "3", "--no-prefix", "--", *hosts, command, "perf", "barrier", "-n", "1").stdout
    assert "# ranks 3 (processes), transport shm+tcp," in both, both
    alone = {"RONDO_RANK": "0", "RONDO_RANKS": "1"}
    assert "# ranks 1 (processes), transport self," in run("perf", "barrier", "-n", "1", **alone).stdout
    assert "# ranks 2 (threads" in run("perf", "barrier", "-t", "2", "-n", "1", **alone).stdout
    for words, variables in ((["--ranks", "2", "--threads", "2"], {}), (["--ranks", "2"], alone)):
        assert "--ranks" in run("perf", "barrier", *words, expect=2, **variables).stderr


def diagnosis(*words, expect=0, limits="", **variables):
    """What `rondo doctor --json` finds under shell commands such as `ulimit -n 100`."""
    done = subprocess.run(["sh", "-c", f'{limits}\nexec "$@"', "sh", command, "doctor", "--json", *words],
                          capture_output=True, text=True, timeout=DEADLINE_SECONDS,
                          env={**os.environ, **variables}, check=False)
    assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    subprocess.run([sys.executable, "-m", "json.tool"], input=done.stdout, text=True, check=True,
                   stdout=subprocess.DEVNULL, timeout=DEADLINE_SECONDS)
    found = json.loads(done.stdout)
    for severity in ("problem", "warning"):
        assert found[severity + "s"] == sum(f["severity"] == severity for f in found["findings"]), found
    assert (found["problems"] > 0) == (expect == 1), found
    return found


def doctor():
    """What the machine offers and what limits it, for people and for programs."""
    areas = ["settings", "processors", "memory", "shared memory", "limits", "kernel", "network",
             "adapters", "gpus", "pairs"]
    text = run("doctor", "--ranks", "3").stdout
    blocks = text.split("\n\n")
    assert [block.splitlines()[0] for block in blocks[1:11]] == areas, text
    rows = [line.split() for line in text.splitlines() if re.match(r"  [012]  ", line)]
    assert len(rows) == 6 and all(len(row) == 4 for row in rows), text
    assert "3 ranks of this host reach each other by shm" in text, text
    assert all(float(rows[one][other + 1]) > 0 for one in range(6) for other in range(3)
               if other != one % 3), text
    assert run("doctor", "--ranks", "0").stdout.count("us (") == 0
    for wrong in (["--ranks", "1"], ["--ranks", "65"], ["--ranks=-1"], ["--frobnicate"]):
        assert wrong[0].split("=")[0] in run("doctor", *wrong, expect=2).stderr


def the(found, part):
    """The only finding whose text has `part`."""
    texts = [f for f in found["findings"] if part in f["text"]]
    assert len(texts) == 1, (part, found)
    return texts[0]


def doctor_findings():
    """Limits and settings that really are in the way are found, and the exit status tells of problems."""
    found = diagnosis("-n", "2")
    assert [pair["ranks"] for pair in found["pairs"]] == [[0, 1]], found
    pair = found["pairs"][0]
    assert pair["transport"] == "shm" and pair["latency_us"] > 0 and pair["bandwidth_gbs"] > 0
    assert diagnosis("-n", "2", RONDO_TRANSPORT="tcp")["pairs"][0]["transport"] == "tcp"
    none = ("-n", "0")
    few = the(diagnosis(*none, limits="ulimit -n 100"), "100 files")
    assert few["severity"] == "warning" and few["cure"].startswith("ulimit -n "), few
    small = the(diagnosis(*none, limits="ulimit -f 1000"), "may not make files larger than")
    assert small["severity"] == "warning" and small["cure"] == "ulimit -f unlimited", small
    alone = diagnosis(*none, limits="ulimit -f 1000", expect=1, RONDO_TRANSPORT="shm")
    assert the(alone, "no other way, and shared memory")["severity"] == "problem"
    wrong = diagnosis(expect=1, RONDO_CHANNELS="many", RONDO_CHUNK_BYTE="64", RONDO_SLOTS_PER_CONNECTION="4")
    assert the(wrong, "RONDO_CHANNELS value")["cure"] == "unset RONDO_CHANNELS"
    assert "RONDO_CHUNK_BYTES may have been meant" in the(wrong, "RONDO_CHUNK_BYTE is")["text"]
    assert the(wrong, "RONDO_SLOTS_PER_CONNECTION")["severity"] == "ok"
    assert the(wrong, "pairs of ranks are not measured")["severity"] == "note" and not wrong["pairs"]
    nowhere = the(diagnosis(*none, expect=1, RONDO_INTERFACE="nosuch*"), "fits \"nosuch*")
    assert nowhere["area"] == "network" and nowhere["cure"] == "unset RONDO_INTERFACE", nowhere
    with tempfile.NamedTemporaryFile("w") as secret:
        secret.write("correct horse battery staple")
        secret.flush()
        os.chmod(secret.name, 0o644)
        assert "mode 0644" in the(diagnosis(*none, expect=1, RONDO_SECRET_FILE=secret.name), "mode")["text"]
        os.chmod(secret.name, 0o600)
        diagnosis(*none, RONDO_SECRET_FILE=secret.name)
    launched = {"RONDO_RANK": "0", "RONDO_RANKS": "1"}
    assert "a launcher has started" in the(diagnosis("-n", "2", **launched), "not measured")["text"]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    assert the(diagnosis(*none), "ranks take turns")["area"] == "processors"


def doctor_adapters():
    """Adapters are found and judged; LD_LIBRARY_PATH has the double of libibverbs."""
    none = ("-n", "0")
    found = diagnosis(*none)
    for port in ("rdma0 port 1 (RoCE", "rdma1 port 1 (RoCE"):
        assert the(found, port)["severity"] == "ok", found
    found = diagnosis(*none, RONDO_IB_DEVICES="^rdma0")
    assert the(found, "rdma0 is ruled out by RONDO_IB_DEVICES")["severity"] == "note", found
    found = diagnosis(*none, expect=1, RONDO_IB_DEVICES="mlx5_0", RONDO_TRANSPORT="shm,verbs")
    assert the(found, "no port of any adapter")["cure"] == "unset RONDO_TRANSPORT", found
    found = diagnosis(*none, expect=1, RONDO_IB_GID_INDEX="200")
    assert the(found, "RONDO_IB_GID_INDEX is 200")["cure"] == "unset RONDO_IB_GID_INDEX", found
    assert diagnosis("-n", "2", RONDO_TRANSPORT="verbs")["pairs"][0]["transport"] == "verbs"


def doctor_gpus():
    """GPUs are found and judged; LD_LIBRARY_PATH has the double of the CUDA driver."""
    found = diagnosis("-n", "0")
    assert the(found, "CUDA device 0 is there (emulated)")["severity"] == "ok", found
    kernels = not any("no kernels for GPUs" in finding["text"] for finding in found["findings"])
    found = diagnosis("-n", "2", expect=0 if kernels else 1, RONDO_DEVICE="0")
    assert "RONDO_DEVICE puts them on devices" in the(found, "pairs of ranks")["text"], found
    found = diagnosis("-n", "0", expect=1, RONDO_DEVICE="99")
    assert the(found, "RONDO_DEVICE is 99, but there are")["area"] == "gpus", found


def run_bind():
    """Ranks are bound to what `rondo explain --topology` suggests, and to nothing that they may not use."""
    show = "import os; print(os.environ['RONDO_RANK'], sorted(os.sched_getaffinity(0)))"
    program = ["--no-prefix", "--", sys.executable, "-c", show]

    def bound(ranks, *flags):
        done = run("run", "-n", str(ranks), *flags, *program)
        lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
        return {int(rank): set(json.loads(mask)) for rank, mask in lines}, done.stderr

    allowed = os.sched_getaffinity(0)
    for how in ([], ["--bind", "none"]):
        assert bound(2, *how, "--verbose") == ({0: allowed, 1: allowed}, ""), how
    shares, said = bound(2, "--bind", "share", "--verbose")
    assert shares[0] | shares[1] == allowed, shares
    assert len(allowed) < 2 or not shares[0] & shares[1], shares
    for rank, mask in shares.items():
        line = next(line for line in said.splitlines() if f"rank {rank} runs on processors" in line)
        assert line.startswith("rondo run: ") and str(min(mask)) in line.split()[-1], said
    cores, quiet = bound(2, "--bind", "core")
    nodes, _ = bound(2, "--bind", "numa")
    assert quiet == "" and all(min(shares[rank]) in cores[rank] for rank in (0, 1)), cores
    assert all(shares[rank] <= nodes[rank] <= allowed for rank in (0, 1)), nodes
    one = min(allowed)
    os.sched_setaffinity(0, {one})
    try:
        for how in ("share", "numa", "core"):
            assert bound(3, "--bind", how)[0] == {rank: {one} for rank in range(3)}, how
    finally:
        os.sched_setaffinity(0, allowed)
    assert "none, share, numa and core" in run("run", "--bind", "socket", "--", "true", expect=2).stderr


def run_output():
    """Lines stay whole and carry their rank; files have them without it; the secret is hidden."""
    script = ('i=0; while [ $i -lt 300 ]; do printf "begin $i "; echo end; i=$((i+1)); done; '
              'echo bad >&2; printf "no newline"')
    with tempfile.TemporaryDirectory() as folder:
        done = run("run", "-n", "3", "--output", f"{folder}/logs", "--", "sh", "-c", script)
        lines = done.stdout.splitlines()
        for rank in range(3):
            mine = [line for line in lines if line.startswith(f"[{rank}] ")]
            assert mine == [f"[{rank}] begin {i} end" for i in range(300)] + [f"[{rank}] no newline"]
            with open(f"{folder}/logs/rank-{rank}.log", encoding="ascii") as file:
                text = file.read()
            assert "begin 299 end\n" in text and "bad\n" in text and "[" not in text
        assert sorted(done.stderr.splitlines()) == [f"[{rank}] bad" for rank in range(3)]
    plain = run("run", "-n", "2", "--no-prefix", "--", "sh", "-c", "echo $RONDO_RANK/$RONDO_RANKS")
    assert sorted(plain.stdout.split()) == ["0/2", "1/2"], plain.stdout
    words = run("run", "-n", "1", "--", "sh", "-c", 'echo "$#$@"', "x", "a b", "--", "-n").stdout
    assert words == "[0] 3a b -- -n\n", words
    told = run("run", "-n", "1", "--", "sh", "-c",
               "test -z \"$RONDO_SECRET\" && stat -L -c %a $RONDO_SECRET_FILE").stdout
    assert told == "[0] 600\n", told


def alive(mark):
    """Processes whose command line contains `mark`."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
                if mark in file.read() and int(process) != os.getpid():
                    found.append(process)
        except OSError:
            pass
    return found


def await_gone(mark, seconds=5.0):
    begin = time.monotonic()
    while alive(mark):
        assert time.monotonic() - begin < seconds, f"{alive(mark)} still run"
        time.sleep(0.02)


def run_failure():
    """One rank's failure ends all and becomes that of the command."""
    mark = f"rondo-mark-{os.getpid()}"
    for how, code, text in [("exit 7", 7, "rank 1 of 3 exited with 7"),
                            ("kill -SEGV $$", 139, "rank 1 of 3 was killed by signal 11")]:
        begin = time.monotonic()
        done = run("run", "-n", "3", "--", "sh", "-c",
                   f'if [ $RONDO_RANK = 1 ]; then {how}; fi; sleep 60; : {mark}', expect=code)
        assert time.monotonic() - begin < 4
        assert done.stderr.splitlines()[-1].startswith("rondo run: " + text), done.stderr
        await_gone(mark)
    with tempfile.TemporaryDirectory() as folder:
        # Rank 1 fails only once rank 0 ignores SIGTERM.
        ready = f"{folder}/ready"
        begin = time.monotonic()
        run("run", "-n", "2", "--grace", "0.5", "--", "sh", "-c",
            f'if [ $RONDO_RANK = 1 ]; then while [ ! -e {ready} ]; do sleep 0.01; done; exit 3; fi; '
            f'trap "" TERM; : > {ready}; while :; do sleep 0.1; done; : {mark}', expect=3)
    assert 0.4 < time.monotonic() - begin < 4
    await_gone(mark)
    done = run("run", "-n", "2", "--", "no-such-program", expect=2)
    assert "no-such-program: No such file" in done.stderr, done.stderr
    for words, hint in [(["-n", "0", "--", "true"], "-n: 0"), (["-n", "2"], "no program"),
                        (["--frobnicate", "--", "true"], "--frobnicate")]:
        assert hint in run("run", *words, expect=2).stderr


def start_and_await(text, *words):
    process = subprocess.Popen([command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    while text not in process.stdout.readline():
        assert process.poll() is None, process.stderr.read()
    return process


def run_signals():
    """Signals reach the ranks, and nothing is left, even if the command is killed."""
    mark = f"rondo-mark-{os.getpid()}"
    script = ('trap "echo caught; exit 5" TERM INT; echo ready; '
              f'while :; do sleep 0.05; done; : {mark}')
    for number, code in ((signal.SIGTERM, 5), (signal.SIGINT, 5), (signal.SIGKILL, -9)):
        process = start_and_await("ready", "run", "-n", "1", "--", "sh", "-c", script)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert process.returncode == code, (process.returncode, out, err)
        if code > 0:
            assert "[0] caught" in out and "rank 0 of 1 exited with 5" in err, (out, err)
        await_gone(mark)


if __name__ == "__main__":
    checks = {check.__name__: check for check in (
        perf_sweep, perf_blocks, perf_output, perf_algorithms, usage, explain, explain_agrees,
        explain_topology, tune, perf_processes, perf_buffers, perf_adapters, doctor, doctor_findings,
        doctor_adapters, doctor_gpus, run_bind, run_output, run_failure, run_signals)}
    if len(sys.argv) != 3 or sys.argv[2] not in checks:
        sys.exit(f"{__doc__}\nCHECK: {' '.join(checks)}")
    command = sys.argv[1]
    checks[sys.argv[2]]()
