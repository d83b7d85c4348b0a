"""Charts as inline SVG: nothing is loaded, so the page shows the same anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

WIDTH, HEIGHT = 420, 120
_BINS = 40
_LEFT, _BOTTOM, _TOP = 4, 18, 6


@dataclass(frozen=True, slots=True)
class Threshold:
    """A line in a histogram: a rule's threshold in the unit of the axis."""

    rule: str
    value: float


def histogram(
    values: NDArray[np.int64],
    kept: NDArray[np.bool_],
    thresholds: Sequence[Threshold],
    scale: float,
) -> Markup:
    """Documents by value: kept ones dark, dropped ones light, thresholds as lines.

    Args:
        kept: which documents were kept, as long as `values`.
        scale: what one of the axis is worth: 1,000,000 for millionths.
    """
    if not len(values):
        return Markup("")
    shown = values / scale
    low, high = _range(shown, thresholds)
    edges = _edges(low, high, counts=scale == 1)
    dark, light = (np.histogram(np.clip(shown[m], low, high), edges)[0] for m in (kept, ~kept))
    top = max(int((dark + light).max()), 1)
    bars = [_bars(edges, dark, light, top)]
    lines = [_line(edges, item) for item in thresholds if low <= item.value <= high]
    axis = [_label(edges, edges[0], "start"), _label(edges, edges[-1], "end")]
    return _svg([*bars, *lines, *axis], f"up to {top:,} documents in a bar")


def bar(share: float, label: str) -> Markup:
    """A horizontal bar of a share between 0 and 1."""
    wide = max(0.0, min(1.0, share)) * WIDTH
    return Markup(
        '<svg class="bar" viewBox="0 0 {w} 12" role="img" aria-label="{label}">'
        '<rect class="back" width="{w}" height="12"/>'
        '<rect class="front" width="{wide:.1f}" height="12"/></svg>'
    ).format(w=WIDTH, wide=wide, label=label)


def shares(counts: Mapping[str, int]) -> list[tuple[str, int, float]]:
    """Names, counts and shares of the largest, in falling order."""
    largest = max(counts.values(), default=0) or 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(name, count, count / largest) for name, count in ordered]


def _range(values: NDArray[np.float64], thresholds: Sequence[Threshold]) -> tuple[float, float]:
    # The outermost thousandth would flatten everything else; it is counted in the end bars.
    low, high = np.quantile(values, [0.001, 0.999])
    low = min([float(low), *(item.value for item in thresholds if item.value > 0)])
    high = max([float(high), *(item.value for item in thresholds if item.value < 1e15)])
    return low, high if high > low else low + 1


def _edges(low: float, high: float, *, counts: bool) -> NDArray[np.float64]:
    if counts and low >= 0 and high > 100 * max(low, 1):
        return np.expm1(np.linspace(np.log1p(low), np.log1p(high), _BINS + 1))
    return np.linspace(low, high, _BINS + 1)


def _bars(
    edges: NDArray[np.float64], dark: NDArray[np.int64], light: NDArray[np.int64], top: int
) -> Markup:
    room = HEIGHT - _BOTTOM - _TOP
    wide = (WIDTH - 2 * _LEFT) / _BINS
    parts = []
    for number in range(len(edges) - 1):
        x, base = _LEFT + number * wide, float(HEIGHT - _BOTTOM)
        for name, count in (("kept", int(dark[number])), ("dropped", int(light[number]))):
            tall = room * count / top
            base -= tall
            if count:
                parts.append(
                    f'<rect class="{name}" x="{x:.1f}" y="{base:.1f}" width="{wide - 0.6:.1f}" '
                    f'height="{max(tall, 0.5):.1f}"/>'
                )
    # Numbers alone stand in it.
    return Markup("".join(parts))  # noqa: S704


def _line(edges: NDArray[np.float64], item: Threshold) -> Markup:
    x = _x(edges, item.value)
    return Markup(
        '<line class="threshold" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{base}">'
        "<title>{rule}: {value:g}</title></line>"
    ).format(x=x, base=HEIGHT - _BOTTOM, rule=item.rule, value=item.value)


def _label(edges: NDArray[np.float64], value: float, anchor: str) -> Markup:
    x = _x(edges, value)
    return Markup('<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{value}</text>').format(
        x=x, y=HEIGHT - 4, anchor=anchor, value=f"{value:,.4g}"
    )


def _x(edges: NDArray[np.float64], value: float) -> float:
    at = float(np.interp(value, edges, np.arange(len(edges))))
    return _LEFT + at * (WIDTH - 2 * _LEFT) / _BINS


def _svg(parts: Sequence[Markup], label: str) -> Markup:
    body = Markup("").join(parts)
    return Markup(
        '<svg class="histogram" viewBox="0 0 {w} {h}" role="img" aria-label="{label}">'
        "<title>{label}</title>{body}</svg>"
    ).format(w=WIDTH, h=HEIGHT, label=escape(label), body=body)
