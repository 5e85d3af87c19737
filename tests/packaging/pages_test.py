"""What pages tell readers to type and to call exists.

usage: pages_test.py COMMAND SOURCE CHECK, where CHECK is the name of a function below.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

DEADLINE_SECONDS = 60  # of a block
command = pathlib.Path()
source = pathlib.Path()


def pages():
    for path in [source / "README.md", *sorted((source / "docs").glob("*.md"))]:
        yield path.name, path.read_text(encoding="utf-8")


def commands():
    """Blocks marked `sh run` are run as they stand, in an empty folder with the command on PATH."""
    count = 0
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RONDO_")}
    clean["PATH"] = f"{command.parent}:{clean['PATH']}"
    for name, text in pages():
        for block in re.findall(r"^```sh run\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(["bash", "-euc", block], cwd=folder, env=clean, check=False, text=True,
                                      stdin=subprocess.DEVNULL, timeout=DEADLINE_SECONDS,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            assert done.returncode == 0, f"{name}: status {done.returncode} of\n{block}\n{done.stdout}"
            count += 1
    assert count > 5, count


def flags():
    """Each flag of `rondo perf`, `run`, `explain` or `doctor` on a page is one that it has."""
    known = {}
    for word in ("perf", "run", "explain", "doctor"):
        text = subprocess.run([command, word, "--help"], capture_output=True, text=True, check=True,
                              timeout=DEADLINE_SECONDS).stdout
        known[word] = set(re.findall(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", text))
    wrong = []
    count = 0
    for name, text in pages():
        for word, rest in re.findall(r"\brondo (perf|run|explain|doctor)\b([^`\n|;)#]*)", text):
            own = rest.split(" -- ")[0]  # what follows is the program's
            used = re.findall(r"(?<!\S)(--?[a-zA-Z][\w-]*)", own)
            wrong += [(name, word, flag) for flag in used if flag not in known[word]]
            count += len(used)
    assert count > 20 and not wrong, wrong


def api_names():
    """Each function, type and constant of the C interface that a page names is declared."""
    header = (source / "include/rondo/rondo.h").read_text(encoding="utf-8")
    declared = set(re.findall(r"\brondo[A-Z]\w*", re.sub(r"///.*", "", header)))
    wrong = []
    for name, text in pages():
        for used in re.findall(r"(?<![\w/.$-])rondo[A-Z]\w*", text):
            if used not in declared and name != "testing.md":  # which names functions of tests
                wrong.append((name, used))
    assert not wrong, wrong


def code():
    """Blocks marked `c compile` or `cpp compile` compile, with warnings as errors."""
    compilers = {"c": [os.environ.get("CC", "cc"), "-xc", "-std=c99"],
                 "cpp": [os.environ.get("CXX", "c++"), "-xc++", "-std=c++20"]}
    count = 0
    for name, text in pages():
        for language, block in re.findall(r"^```(c|cpp) compile\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            done = subprocess.run([*compilers[language], "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                   f"-I{source}/include", "-"], input=block, capture_output=True, text=True,
                                  timeout=DEADLINE_SECONDS, check=False)
            assert done.returncode == 0, f"{name}:\n{block}\n{done.stderr}"
            count += 1
    assert count > 1, count


def links():
    """Each link to a page, a part of one, or a file of this repository leads there."""
    wrong = []
    for name, text in pages():
        folder = source if name == "README.md" else source / "docs"
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"\w+:", target):
                continue
            path, _, part = target.partition("#")
            file = folder / path if path else folder / name
            if not file.exists():
                wrong.append((name, target))
            elif part and part not in anchors(file.read_text(encoding="utf-8")):
                wrong.append((name, target))
    assert not wrong, wrong


def anchors(text):
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL),
                          re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


if __name__ == "__main__":
    checks = {check.__name__: check for check in (commands, flags, api_names, code, links)}
    if len(sys.argv) != 4 or sys.argv[3] not in checks:
        sys.exit(f"{__doc__}\nCHECK: {' '.join(checks)}")
    command, source = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]).absolute()
    checks[sys.argv[3]]()
