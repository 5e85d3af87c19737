#!/usr/bin/env python3
"""Tries the race on what this build has: results are right, every cell is reported, losses too.

    race_test.py BUILD-FOLDER

No time is judged.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "perf" / "race"
DEADLINE = 270
BUILD = None


def run(*command):
    done = subprocess.run([sys.executable, *map(str, command)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=DEADLINE, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def cell(peer, round_number, **changes):
    """A line as the race writes it; times in us."""
    line = {"op": "all_reduce", "type": "float", "place": "out", "ranks": 2, "size": 8, "bytes": 8,
            "wrong": 0, "hop_us": 0.2, "calls": 5, "time_us": 1.0, "min_us": 1.0, "p90_us": 1.0,
            "clean_calls": 5, "clean_us": 1.0, "loop_us": 1.0, "loop_min_us": 1.0,
            "run": "a", "peer": peer, "round": round_number, "load": 0.0}
    return {**line, **changes}


RUN = {"run": "a", "date": "today", "commit": "none", "command": "race", "machine": "some",
       "versions": {"rondo": "commit none", "openmpi": "1", "mpich": "2"}}


class RaceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, lines, *options):
        path = self.folder / "made.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return run(FOLDER / "report", path, *options)

    def test_every_cell_is_measured_and_right(self):
        out = self.folder / "race.jsonl"
        said = run(FOLDER / "race", "--no-build", "--build", BUILD,
                   "--peers", "rondo,rondo-threads,rondo-mapped,ideal", "--sizes", "8,4K",
                   "--types", "float,bfloat16,half", "--places", "out,in", "--ranks", "2,3",
                   "--rounds", "1", "--budget", "0.001", "--deadline", "60", "--out", out)
        head, *cells = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertIn("versions", head)
        self.assertEqual([line for line in cells if line["wrong"]], [])
        ideal = [line for line in cells if line["peer"] == "ideal"]
        # 7 operations out of place and 5 in place, 3 types, 2 sizes, 2 numbers of ranks.
        self.assertEqual(len(ideal), (7 + 5) * 3 * 2 * 2)
        for peer in ("rondo", "rondo-threads", "rondo-mapped"):
            mine = [line for line in cells if line["peer"] == peer]
            self.assertEqual(len(mine), (7 + 5) * 3 * 2 * 2, said)
        images = self.folder / "images"
        page = self.folder / "page.md"
        page.write_text("before\n<!-- race: begin -->\nold\n<!-- race: end -->\nafter\n")
        run(FOLDER / "report", out, "--into", page, "--images", images)
        text = page.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"), text)
        self.assertNotIn("old", text)
        self.assertIn("**broadcast, half, 3 ranks, in place**", text)
        pictures = sorted(images.glob("*.svg"))
        self.assertEqual(len(pictures), 3 * 2 * 2)
        for picture in pictures:
            self.assertIn(picture.name, text)
            xml.etree.ElementTree.parse(picture)

    def test_a_lost_cell_is_in_the_table(self):
        text = self.report([RUN, cell("rondo", 0, time_us=4.0), cell("rondo", 1, time_us=5.0),
                            cell("mpich", 0, time_us=2.0), cell("mpich", 1, time_us=2.0),
                            cell("openmpi", 0, time_us=3.0), cell("openmpi", 1, time_us=3.0),
                            cell("ideal", 0, time_us=1.0), cell("ideal", 1, time_us=1.0)])
        self.assertIn("| mpich | 0.45 (0.40 - 0.50) | 22 % |", text)
        self.assertIn("| all | 0.45 | 0.45 | 0.45 | 0 | 1 |", text)

    def test_what_cannot_be_compared_has_no_table(self):
        text = self.report([RUN, cell("rondo", 0), cell("mpich", 0, hop_us=0),
                            cell("rondo", 1, op="reduce"), cell("mpich", 1, op="reduce")],
                           "--apart", "0.1")
        self.assertIn("**reduce, float, 2 ranks, out of place, processors apart**", text)
        self.assertNotIn("**all_reduce", text)

    def test_buffers_that_all_can_read_are_a_table_of_their_own(self):
        text = self.report([RUN, cell("rondo", 0, time_us=4.0), cell("mpich", 0, time_us=6.0),
                            cell("rondo-mapped", 0, time_us=2.0), cell("ideal", 0, time_us=1.0)])
        self.assertIn("| mpich | 1.50 (1.50 - 1.50) | 25 % |", text)
        self.assertIn("out of place: buffers that all ranks can read**", text)
        self.assertIn("| size | ideal | rondo-mapped | ideal / rondo-mapped |", text)
        self.assertIn("| 0.50 (0.50 - 0.50) |", text)

    def test_wrong_results_do_not_win(self):
        text = self.report([RUN, cell("rondo", 0, time_us=2.0),
                            cell("mpich", 0, time_us=1.0, wrong=3),
                            cell("openmpi", 0, time_us=3.0)])
        self.assertIn("1 **wrong**", text)
        self.assertIn("| openmpi | 1.50 (1.50 - 1.50) |", text)

    def test_samples_of_other_hops_can_be_left_out(self):
        lines = [RUN, cell("rondo", 0, time_us=2.0), cell("mpich", 0, time_us=1.0, hop_us=0.05),
                 cell("mpich", 1, time_us=3.0)]
        self.assertIn("| mpich | 1.50 (1.50 - 1.50) |",
                      self.report(lines, "--hops", "0.1:0.3"))

    def test_processors_that_are_apart_have_cells_of_their_own(self):
        lines = [RUN, cell("rondo", 0, time_us=2.0), cell("mpich", 0, time_us=3.0),
                 cell("rondo", 1, time_us=1.0, hop_us=0.05),
                 cell("mpich", 1, time_us=4.0, hop_us=0.05)]
        text = self.report(lines, "--apart", "0.1")
        self.assertIn("processors apart | 1.50 |", text)
        self.assertIn("processors near | 4.00 |", text)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop())
    unittest.main()
