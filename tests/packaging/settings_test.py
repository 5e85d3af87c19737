"""Code, header and pages agree on settings and on the variables of launchers.

usage: settings_test.py COMMAND SOURCE CHECK, where CHECK is the name of a function below. The table in
src/config.cc, as `rondo explain --settings` prints it, is what all others are compared with.
"""

import os
import pathlib
import re
import subprocess
import sys

LIBRARY = ("src", "transports", "kernels", "collectives", "include")
DEADLINE_SECONDS = 60
command = ""
source = pathlib.Path()


def settings():
    """By variable: default, what is taken, what it is, field; empty texts for none."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RONDO_")}
    text = subprocess.run([command, "explain", "--settings"], capture_output=True, text=True, check=True,
                          timeout=DEADLINE_SECONDS, env=clean).stdout
    found = {}
    for head, line in zip(*[iter(text.splitlines())] * 2):
        name, default = re.fullmatch(r"(\w+) = (.*) \(default\)", head).groups()
        meaning, takes, field = re.fullmatch(r"    (.*); takes (.*?)(?:; field (\w+))?", line).groups()
        found[name] = ("" if default == "none" else default, takes, meaning, field or "")
    assert len(found) > 20, text
    return found


def sources(*suffixes):
    for folder in LIBRARY:
        for path in sorted((source / folder).rglob("*")):
            if path.suffix in suffixes:
                yield path, path.read_text(encoding="utf-8")


def page():
    """docs/configuration.md has a row for each setting that says the same, and explains it; and no more."""
    text = (source / "docs/configuration.md").read_text(encoding="utf-8")
    rows = {}
    for row in re.findall(r"^\| `RONDO_.*$", text, re.MULTILINE):
        name, field, default, takes, meaning = [cell.strip().strip("`") for cell in row.strip("|").split("|")]
        assert name not in rows, f"{name} has two rows"
        rows[name] = (default, takes, meaning, field)
    for name, row in settings().items():
        assert rows.pop(name, None) == row, f"docs/configuration.md: the row of {name} is not {row}"
        assert f"**`{name}`**" in text, f"docs/configuration.md does not explain {name}"
    assert not rows, f"docs/configuration.md has {sorted(rows)}, which are no settings"


def fields():
    """Each field of rondoConfig_t is a setting's, and its comment names variable and default; and vice versa."""
    header = (source / "include/rondo/rondo.h").read_text(encoding="utf-8")
    struct = re.search(r"typedef struct rondoConfig \{(.*?)\} rondoConfig_t;", header, re.DOTALL)[1]
    comments = {}
    for comment, field in re.findall(r"((?:  /// .*\n)+)  (?:const char\*|int64_t) (\w+);", struct):
        comments[field] = re.sub(r"\s+/// ", " ", comment)
    assert len(comments) == len(re.findall(r";", re.sub(r"///.*", "", struct))) - 3, \
        "a field has no comment, or is neither text nor number"  # but size, magic and version
    for name, (default, _, _, field) in settings().items():
        if not field:
            continue
        comment = comments.pop(field, None)
        assert comment, f"{name} is to be the field {field}, which rondoConfig_t lacks"
        said = re.search(r'Default: "?([\w-]+)"?', comment)
        assert said and name in comment[said.end():], f"{field}: no default, or not before {name}"
        wanted = {"": "none", "host": "-1"}.get(default, default)
        assert said[1] == wanted, f"{field}: the comment has default {said[1]}, the table {wanted}"
    assert not comments, f"fields {sorted(comments)} are no setting's"


def one_reader():
    """Only src/config.cc looks at the environment, so that its table is complete."""
    readers = {str(path.relative_to(source)) for path, text in sources(".cc", ".h", ".cu", ".cuh")
               if re.search(r"\b(secure_)?getenv\(|\benviron\b", re.sub(r"//.*", "", text))}
    assert readers == {"src/config.cc"}, readers


def names():
    """Whatever looks like a setting, in a message of the library or on a page, is one, or a macro or a
    build option."""
    known = set(settings())
    defined = set()
    builds = [source / "CMakeLists.txt", *source.glob("cmake/*.cmake")]
    for text in [path.read_text() for path in builds] + [text for _, text in sources(".txt")]:
        defined |= set(re.findall(r"(?:option|set|rondo_find_\w+)\(\s*(RONDO_\w+)", text))
    for _, text in sources(".h", ".cc"):
        defined |= set(re.findall(r"#\s*define\s+(RONDO_\w+)", text))
    wrong = []
    for path, text in sources(".h", ".cc"):
        for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
            wrong += [(path.name, name) for name in re.findall(r"RONDO_[A-Z_0-9]*[A-Z0-9]", literal)
                      if name not in known | defined]
    for path in [*source.glob("*.md"), *source.glob("docs/*.md")]:
        text = path.read_text(encoding="utf-8")
        wrong += [(path.name, name) for name in re.findall(r"\bRONDO_[A-Z_0-9]*[A-Z0-9]\b", text)
                  if name not in known | defined | {"RONDO_UPPER"}]  # a pattern of docs/conventions.md
    assert not wrong, f"neither settings nor macros nor build options: {wrong}"


def launchers():
    """docs/bootstrap.md names every variable of a launcher that the library looks at, and no others."""
    pattern = (r"(?:SLURM|OMPI|PMIX?|MPI|TORCHELASTIC)_[A-Z_]*[A-Z]|MASTER_ADDR|MASTER_PORT|LOCAL_RANK|"
               r"LOCAL_WORLD_SIZE|WORLD_SIZE|RANK")
    code = (source / "src/bootstrap/launcher.cc").read_text(encoding="utf-8")
    for path in ("pmi1_store.cc", "pmix_store.cc"):
        code += (source / "src/bootstrap" / path).read_text(encoding="utf-8")
    read = set(re.findall(rf'"({pattern})"', code))
    text = (source / "docs/bootstrap.md").read_text(encoding="utf-8")
    told = set(re.findall(rf"`({pattern})`", text))
    assert len(read) > 15 and read == told, f"only read: {read - told}, only told: {told - read}"


if __name__ == "__main__":
    checks = {check.__name__: check for check in (page, fields, one_reader, names, launchers)}
    if len(sys.argv) != 4 or sys.argv[3] not in checks:
        sys.exit(f"{__doc__}\nCHECK: {' '.join(checks)}")
    command, source = sys.argv[1], pathlib.Path(sys.argv[2])
    checks[sys.argv[3]]()
