"""Reads what ./race wrote, and compares: cells, times over rounds, ratios.

A cell is one operation with one type, place, number of ranks and size. Times are in microseconds.
"""

import dataclasses
import json
import math
import pathlib
import statistics
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

import peers as racers

METRICS = {
    "time_us": "single calls that begin on all ranks together, median",
    "clean_us": "single calls during which the scheduler took no rank's processor, median",
    "min_us": "the shortest of the single calls",
    "loop_us": "calls in a row, median of batches",
    "loop_min_us": "calls in a row, shortest batch",
}


class Group(NamedTuple):
    """Cells that differ only in size: one table."""

    op: str
    type: str
    place: str
    ranks: int
    # Whether processors were apart, where cells of the two states are kept apart, too.
    apart: Optional[bool] = None

    def kind(self) -> str:
        """What groups of other operations may have in common with this one."""
        place = "out of place" if self.place == "out" else "in place"
        state = {None: "", False: ", processors near", True: ", processors apart"}[self.apart]
        return f"{self.type}, {self.ranks} ranks, {place}{state}"

    def title(self) -> str:
        return f"{self.op}, {self.kind()}"


def metric_of(line: Dict, metric: str) -> float:
    """With more ranks than processors there are no single calls, only calls in a row."""
    return line.get(metric, line["loop_us"])


@dataclasses.dataclass
class Ratio:
    """How often `own` goes into `other`, over rounds: above 1 the first is faster."""

    median: float
    least: float
    most: float


@dataclasses.dataclass
class Cell:
    """The times of all libraries for one size: by name, then round."""

    group: Group
    size: int
    times: Dict[str, Dict[Tuple[str, int], float]] = dataclasses.field(default_factory=dict)
    wrong: Dict[str, int] = dataclasses.field(default_factory=dict)

    def add(self, line: Dict, metric: str) -> None:
        times = self.times.setdefault(line["peer"], {})
        times[(line["run"], line["round"])] = metric_of(line, metric)
        self.wrong[line["peer"]] = self.wrong.get(line["peer"], 0) + line["wrong"]

    def median(self, name: str) -> Optional[float]:
        times = self.times.get(name)
        return statistics.median(times.values()) if times else None

    def best_peer(self) -> Optional[str]:
        """The fastest library that is not our own and gave right results, beside Rondo if that is
        there."""
        def time(name: str) -> float:
            ratio = self.ratio(name)
            return ratio.median if ratio else self.median(name)

        peers = [name for name in self.times
                 if name not in racers.OWN and not self.wrong.get(name)]
        return min(peers, key=time, default=None)

    def compares(self) -> bool:
        """Whether there is anything to compare: what was measured with processors near, or apart,
        may be of one library alone."""
        own = (name for name in racers.OWN if name != racers.IDEAL)
        return any(self.ratio(racers.IDEAL, name) for name in own) or \
            self.ratio(self.best_peer()) is not None

    def ratio(self, other: Optional[str], own: str = racers.RONDO) -> Optional[Ratio]:
        """Of rounds, whose times were measured near each other. Where the two were in no round
        together, that of their medians."""
        if other is None or own not in self.times or other not in self.times:
            return None
        shared = self.times[own].keys() & self.times[other].keys()
        rounds = [self.times[other][key] / self.times[own][key] for key in shared]
        if not rounds:
            rounds = [self.median(other) / self.median(own)]
        return Ratio(statistics.median(rounds), min(rounds), max(rounds))


@dataclasses.dataclass
class Race:
    """What was read of the files."""

    runs: List[Dict] = dataclasses.field(default_factory=list)
    cells: List[Cell] = dataclasses.field(default_factory=list)
    # How long a cache line took, at each measurement where ranks had processors of their own.
    hops: List[float] = dataclasses.field(default_factory=list)
    left_out: int = 0


def read(paths: Iterable[pathlib.Path], metric: str, least_hop: float, most_hop: float,
         apart_from: Optional[float] = None) -> Race:
    """Cells in the order of their first appearance, of measurements with hops in the range. Hops
    from `apart_from` on are of processors that are apart."""
    race = Race()
    cells: Dict[Tuple[Group, int], Cell] = {}
    for path in paths:
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            if "versions" in line:
                race.runs.append(line)
                continue
            hop = line["hop_us"]
            if hop and not least_hop <= hop <= most_hop:
                race.left_out += 1
                continue
            race.hops += [hop] if hop else []
            apart = hop >= apart_from if hop and apart_from else None
            group = Group(line["op"], line["type"], line["place"], line["ranks"], apart)
            cell = cells.setdefault((group, line["size"]), Cell(group, line["size"]))
            cell.add(line, metric)
    race.cells = list(cells.values())
    return race


def deciles(values: List[float]) -> Tuple[float, float, float]:
    """The first, the fifth and the ninth."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return ordered[last // 10], statistics.median(ordered), ordered[last - last // 10]


def by_group(cells: Iterable[Cell]) -> Dict[Group, List[Cell]]:
    groups: Dict[Group, List[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.group, []).append(cell)
    for members in groups.values():
        members.sort(key=lambda cell: cell.size)
    return groups


def geometric_mean(values: List[float]) -> Optional[float]:
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def size_text(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def time_text(microseconds: Optional[float]) -> str:
    return "-" if microseconds is None else f"{microseconds:.3g}" if microseconds < 1000 \
        else f"{microseconds:.0f}"
