#!/usr/bin/env python3
"""The tables of perf/pytorch/report follow from the lines of perf/pytorch/compare. No time is judged."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPORT = pathlib.Path(__file__).resolve().parent.parent.parent / "perf" / "pytorch" / "report"
RUN = {"run": "a", "date": "2026-01-02 03:04 UTC", "commit": "none", "command": "compare", "machine": "some",
       "pytorch": "2.0"}


def training(library, way, rate, round_number=0, kernels=None):
    exposed = {"own_exposed": 0.05} if library == "rondo" else {}
    return {"rate": rate, "loss": 2.5, "run": "a", "shape": "small", "kernels": kernels, "library": library,
            "way": way, "steps": 9, "ranks": 2, "round": round_number, "load": 0.5, **exposed}


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, lines, *options):
        path = self.folder / "made.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in [RUN, *lines]), encoding="utf-8")
        return subprocess.run([sys.executable, str(REPORT), str(path), *map(str, options)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False)

    def test_ratios_are_of_one_round(self):
        lines = []
        for number, slower in enumerate((1, 2, 4)):  # a machine that others use more and more
            lines += [training("rondo", "alone", 1000 / slower, number),
                      training("rondo", "dp", 900 / slower, number),
                      training("pytorch", "alone", 800 / slower, number),
                      training("pytorch", "ddp", 600 / slower, number)]
        text = self.report(lines).stdout
        self.assertIn("| nothing is exchanged | alone | 500 |  |  | alone | 400 |  | 1.25 (1.25 to 1.25) |", text)
        self.assertIn("| data parallel | dp | 450 | 10 (10 to 10) | 5 | DDP | 300 | 25 (25 to 25) | "
                      "1.50 (1.50 to 1.50) |", text)
        self.assertIn("3 rounds of 9 steps", text)
        self.assertIn("PyTorch 2.0", text)

    def test_what_was_not_measured_is_not_there(self):
        text = self.report([training("rondo", "alone", 10), training("rondo", "zero3", 8)]).stdout
        self.assertIn("| and parameters | zero3 | 8 | 20 (20 to 20) | 5 | FSDP | - | - | - |", text)

    def test_kernels_have_tables_of_their_own(self):
        text = self.report([training("rondo", "alone", 10), training("rondo", "alone", 8, kernels="Haswell")]).stdout
        self.assertIn("alone | 10 |", text)
        self.assertIn("**small, OpenBLAS' kernels for Haswell**", text)
        self.assertIn("alone | 8 |", text)

    def test_a_page_without_markers_is_refused(self):
        page = self.folder / "page.md"
        page.write_text("before <!-- pytorch: begin --> old <!-- pytorch: end --> after", encoding="utf-8")
        self.assertEqual(self.report([training("rondo", "alone", 10)], "--into", page).returncode, 0)
        text = page.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("before") and text.endswith("after") and "old" not in text, text)
        page.write_text("nothing", encoding="utf-8")
        done = self.report([training("rondo", "alone", 10)], "--into", page)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("lacks the markers", done.stdout)


if __name__ == "__main__":
    unittest.main()
