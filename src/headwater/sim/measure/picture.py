"""A simulation in pictures: its tree set, and completeness over time. SVG, written by hand.

SVG needs nothing installed and every browser shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from pathlib import Path

from headwater.plan.tree import Tree
from headwater.sim.measure.findings import Findings

WIDTH, HEIGHT, MARGIN = 900, 360, 50
PANEL = 320
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")


def write_pictures(findings: Findings, trees: Sequence[Tree], directory: Path) -> list[Path]:
    """``trees.svg`` and ``completeness.svg``."""
    directory.mkdir(parents=True, exist_ok=True)
    pictures = {
        "trees.svg": picture_of_trees(trees),
        "completeness.svg": picture_of_completeness(findings),
    }
    for name, text in pictures.items():
        (directory / name).write_text(text, encoding="utf-8")
    return [directory / name for name in pictures]


def picture_of_trees(trees: Sequence[Tree]) -> str:
    """Each tree as rings around its root; a site stands at the same angle in all of them."""
    order = _angles(trees[0])
    parts = []
    for number, tree in enumerate(trees):
        x0, y0 = PANEL * number + PANEL / 2, PANEL / 2 + 20
        ring = (PANEL / 2 - 15) / max(1, max(tree.levels.values()))

        def at(
            site: int, x0: float = x0, y0: float = y0, ring: float = ring, tree: Tree = tree
        ) -> tuple[float, float]:
            radius = ring * tree.levels[site]
            return x0 + radius * cos(order[site]), y0 + radius * sin(order[site])

        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<text x="{x0:.0f}" y="14" text-anchor="middle">tree {number}</text>')
        for child, parent in tree.parents:
            (x1, y1), (x2, y2) = at(child), at(parent)
            parts.append(
                f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                f'stroke="{colour}" stroke-width="0.5"/>'
            )
        for site in tree.levels:
            x, y = at(site)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.4"/>')
    return _svg(PANEL * len(trees), PANEL + 40, parts)


def _angles(tree: Tree) -> dict[int, float]:
    """In the order of a walk through the primary tree, so that its branches don't cross."""
    walk, order = [tree.root], []
    while walk:
        site = walk.pop()
        order.append(site)
        walk.extend(tree.children.get(site, ()))
    return {site: 2 * pi * place / len(order) for place, site in enumerate(order)}


def picture_of_completeness(findings: Findings) -> str:
    windows = findings.windows
    until_s = max((one.end_s for one in windows), default=1.0)
    count = max(1, findings.sites)

    def line(values: Sequence[float], colour: str, dashes: str = "") -> str:
        points = " ".join(
            f"{MARGIN + (WIDTH - 2 * MARGIN) * one.end_s / until_s:.1f},"
            f"{HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * value:.1f}"
            for one, value in zip(windows, values, strict=True)
        )
        style = f'stroke="{colour}" fill="none" stroke-dasharray="{dashes}"'
        return f'<polyline points="{points}" {style}/>'

    deadline = max((one.latency_s for one in windows), default=1.0) or 1.0
    parts = [
        line([one.live / count for one in windows], "#bbbbbb"),
        line([one.reachable / count for one in windows], "#2ca02c", "4 3"),
        line([one.first / count for one in windows], "#1f77b4"),
        line([one.covered_last / count for one in windows], "#9467bd", "1 3"),
        line([one.latency_s / deadline for one in windows], "#ff7f0e", "2 2"),
        _legend(f"latency of the first answer, s (top: {deadline:.1f})"),
        *_axes(until_s),
    ]
    return _svg(WIDTH, HEIGHT, parts)


def _legend(latency: str) -> str:
    entries = (
        ("#bbbbbb", "live sites"),
        ("#2ca02c", "reachable"),
        ("#1f77b4", "in the first answer"),
        ("#9467bd", "in the newest answer"),
        ("#ff7f0e", latency),
    )
    return "".join(
        f'<text x="{MARGIN + 155 * number}" y="20" fill="{colour}">{text}</text>'
        for number, (colour, text) in enumerate(entries)
    )


def _axes(until_s: float) -> list[str]:
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share
        parts.append(f'<text x="{MARGIN - 6}" y="{y:.0f}" text-anchor="end">{share:.0%}</text>')
        parts.append(
            f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y:.0f}" y2="{y:.0f}" '
            'stroke="#eeeeee"/>'
        )
    for step in range(6):
        x = MARGIN + (WIDTH - 2 * MARGIN) * step / 5
        text = f"{until_s * step / 5:.0f} s"
        parts.append(f'<text x="{x:.0f}" y="{HEIGHT - 25}" text-anchor="middle">{text}</text>')
    return parts


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>\n"])
