"""Pictures of a race: one SVG per number of ranks, type and place, with a panel per operation.

Each panel shows, over the size, how many times longer than Rondo the best other library takes, with
the spread over rounds, and the same for the ideal.
"""

import math
from typing import Dict, Iterable, List, Optional, Tuple

import peers as racers
import results
from results import Cell, Group, Ratio

PANEL_WIDTH, PANEL_HEIGHT = 300, 190
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 26, 30
COLUMNS = 2
# The ratios at the bottom and the top of a panel; what is beyond is drawn at the edge.
LEAST, MOST = 1 / 8, 32
RATIO_TICKS = (1 / 4, 1, 4, 16)
SIZE_TICKS = (8, 2 << 10, 512 << 10, 128 << 20)
PEER_COLOUR, IDEAL_COLOUR, GRID_COLOUR, TEXT_COLOUR = "#1f6fb2", "#9a9a9a", "#dddddd", "#333333"

Point = Tuple[float, float]


class Panel:
    """Coordinates of one panel, and the lines drawn in it."""

    def __init__(self, title: str, x: int, y: int, sizes: List[int]):
        self.title, self.x, self.y = title, x, y
        self.first, self.last = math.log2(min(sizes)), math.log2(max(sizes))

    def across(self, size: int) -> float:
        share = (math.log2(size) - self.first) / max(self.last - self.first, 1)
        return self.x + LEFT + share * (PANEL_WIDTH - LEFT - RIGHT)

    def down(self, ratio: float) -> float:
        held = min(max(ratio, LEAST), MOST)
        share = math.log2(held / LEAST) / math.log2(MOST / LEAST)
        return self.y + PANEL_HEIGHT - BOTTOM - share * (PANEL_HEIGHT - TOP - BOTTOM)

    def frame(self) -> List[str]:
        left, right = self.x + LEFT, self.x + PANEL_WIDTH - RIGHT
        parts = [text(left, self.y + TOP - 10, self.title, "start", "bold")]
        for ratio in RATIO_TICKS:
            height = self.down(ratio)
            colour = TEXT_COLOUR if ratio == 1 else GRID_COLOUR
            parts.append(f'<line x1="{left}" y1="{height:.1f}" x2="{right}" y2="{height:.1f}" '
                         f'stroke="{colour}"/>')
            parts.append(text(left - 5, height + 4, f"{ratio:g}", "end"))
        for size in SIZE_TICKS:
            if self.first <= math.log2(size) <= self.last:
                parts.append(text(self.across(size), self.y + PANEL_HEIGHT - BOTTOM + 14,
                                  results.size_text(size), "middle"))
        return parts

    def curve(self, ratios: Dict[int, Ratio], colour: str, band: bool) -> List[str]:
        if not ratios:
            return []
        middle = [(self.across(size), self.down(r.median)) for size, r in ratios.items()]
        parts = [f'<polyline points="{points(middle)}" fill="none" stroke="{colour}" '
                 f'stroke-width="1.8"/>']
        if band:
            upper = [(self.across(size), self.down(r.most)) for size, r in ratios.items()]
            lower = [(self.across(size), self.down(r.least)) for size, r in ratios.items()]
            parts.insert(0, f'<polygon points="{points(upper + lower[::-1])}" fill="{colour}" '
                            f'fill-opacity="0.15"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>'
                      for x, y in middle]
        return parts


def points(places: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def text(x: float, y: float, words: str, anchor: str, weight: str = "normal") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{words}'
            f'</text>')


def ratios_to(cells: List[Cell], other: Optional[str]) -> Dict[int, Ratio]:
    """By size; without `other`, to each cell's best peer."""
    found = {}
    for cell in cells:
        ratio = cell.ratio(other or cell.best_peer())
        if ratio:
            found[cell.size] = ratio
    return found


def picture(title: str, operations: Dict[str, List[Cell]]) -> str:
    """An SVG with a panel for each operation."""
    rows = math.ceil(len(operations) / COLUMNS)
    width, height = COLUMNS * PANEL_WIDTH, rows * PANEL_HEIGHT + 44
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             f'font-family="sans-serif" font-size="10" fill="{TEXT_COLOUR}">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             text(12, 18, title, "start", "bold"),
             f'<text x="12" y="34">time over Rondo\'s, so above 1 Rondo is faster: '
             f'<tspan fill="{PEER_COLOUR}">best other library, with spread over rounds</tspan>; '
             f'<tspan fill="{IDEAL_COLOUR}">ideal</tspan></text>']
    for number, (operation, cells) in enumerate(operations.items()):
        panel = Panel(operation, number % COLUMNS * PANEL_WIDTH,
                      44 + number // COLUMNS * PANEL_HEIGHT, [cell.size for cell in cells])
        parts += panel.frame()
        parts += panel.curve(ratios_to(cells, racers.IDEAL), IDEAL_COLOUR, band=False)
        parts += panel.curve(ratios_to(cells, None), PEER_COLOUR, band=True)
    return "\n".join(parts + ["</svg>"]) + "\n"


def pictures(cells: Iterable[Cell]) -> Dict[str, Tuple[str, str]]:
    """By file name: title and SVG."""
    kinds: Dict[Group, Dict[str, List[Cell]]] = {}
    for group, members in results.by_group(cells).items():
        kinds.setdefault(group._replace(op=""), {})[group.op] = members
    made = {}
    for group, operations in kinds.items():
        state = {None: "", False: "-near", True: "-apart"}[group.apart]
        name = f"race-{group.ranks}-{group.type}-{group.place}{state}.svg"
        made[name] = (group.kind(), picture(group.kind(), operations))
    return made
