# SPDX-License-Identifier: Apache-2.0
"""Charts of the figures in docs/pictures: panels side by side, axes with round ticks, lines with
bands, points. Plain SVG on white, the same bytes for the same numbers."""
import html
import math
import typing

# based on Okabe and Ito, darkened for white
COLOURS = ("#0060a0", "#c05000", "#007a55", "#a03878", "#6b5500", "#2f2f2f", "#5a86c5")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 360, 270, 62, 14, 34, 44
LEGEND, LEGEND_STEP = 26, 110  # below panels: its height, and the distance between names


def ticks(low, high, log):
    """The ticks of an axis: round numbers within low..high."""
    if log:
        first, last = math.floor(low), math.ceil(high)
        step = max(1, math.ceil((last - first) / 6))
        return [at for at in range(first, last + 1, step) if low - 1e-9 <= at <= high + 1e-9]
    raw = (high - low) / 5 or 1
    size = 10 ** math.floor(math.log10(raw))
    step = min((m * size for m in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - raw))
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, first + 12) if i * step <= high + 1e-9 * step]


def number(value, log):
    if log:
        return "1" if value == 0 else f"10<tspan dy='-5' font-size='9'>{value:g}</tspan>"
    return f"{value:.6g}"


class Series(typing.NamedTuple):
    kind: str
    name: str
    x: list
    y: list
    low: typing.Optional[list] = None  # of a band, together with high
    high: typing.Optional[list] = None
    dashes: str = ""
    dots: bool = True


class Panel:
    """One chart. A range (low, high) sets the ends of an axis, and values beyond are drawn at the end;
    by default it follows from the numbers. x_ticks: ticks instead of round numbers.
    legend_low: puts the legend at the bottom, for rising lines."""

    def __init__(self, title, x_name, y_name, log_x=False, log_y=False, x_range=None, y_range=None,
                 x_ticks=None, legend_low=False):
        self.title, self.x_name, self.y_name = title, x_name, y_name
        self.log_x, self.log_y = log_x, log_y
        self.x_range, self.y_range, self.x_ticks = x_range, y_range, x_ticks
        self.legend_low = legend_low
        self.series = []

    def line(self, name, x, y, low=None, high=None, dashes="", dots=True):
        """A line, with a dot for each number if there are few and dots is set."""
        self.series.append(Series("line", name, list(x), list(y), low, high, dashes, dots))

    def points(self, name, x, y):
        self.series.append(Series("points", name, list(x), list(y)))

    def range_of(self, log, columns, given):
        if given:
            return tuple(math.log10(v) for v in given) if log else given
        values = [v for column in columns for v in column
                  if v is not None and math.isfinite(v) and (not log or v > 0)]
        if log:
            values = [math.log10(v) for v in values]
        low, high = (min(values), max(values)) if values else (0, 1)
        if low == high:
            low, high = low - 0.5, high + 0.5
        space = 0.06 * (high - low)
        return low - space, high + space

    def place(self, value, axis):
        low, high, begin, end, log, given = axis
        if value is None or not math.isfinite(value) or (log and value <= 0 and not given):
            return None
        if log:
            value = math.log10(value) if value > 0 else low
        if given:
            value = min(max(value, low), high)
        return begin + (value - low) / (high - low) * (end - begin)

    def axes(self):
        x = self.range_of(self.log_x, [s.x for s in self.series], self.x_range)
        y = self.range_of(self.log_y, [c for s in self.series for c in (s.y, s.low, s.high) if c],
                          self.y_range)
        return ((*x, LEFT, WIDTH - RIGHT, self.log_x, self.x_range),
                (*y, HEIGHT - BOTTOM, TOP, self.log_y, self.y_range))

    def x_marks(self, x):
        """Positions and names of ticks."""
        if self.x_ticks:
            return [(self.place(value, x), number(value, False)) for value in self.x_ticks]
        return [(x[2] + (value - x[0]) / (x[1] - x[0]) * (x[3] - x[2]), number(value, x[4]))
                for value in ticks(x[0], x[1], x[4])]

    def draw_axes(self, x, y):
        out = [f'<text class="t" x="{LEFT}" y="18">{html.escape(self.title)}</text>']
        for at, name in self.x_marks(x):
            out.append(f'<path class="g" d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}"/><text '
                       f'text-anchor="middle" x="{at:.1f}" y="{HEIGHT - BOTTOM + 15}">'
                       f'{name}</text>')
        for value in ticks(y[0], y[1], y[4]):
            at = y[2] + (value - y[0]) / (y[1] - y[0]) * (y[3] - y[2])
            out.append(f'<path class="g" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/><text '
                       f'text-anchor="end" x="{LEFT - 5}" y="{at + 4:.1f}">'
                       f'{number(value, y[4])}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        out.append(f'<text text-anchor="middle" x="{middle:.0f}" y="{HEIGHT - 10}">'
                   f'{html.escape(self.x_name)}</text>')
        out.append(f'<text text-anchor="middle" transform="translate(13 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) '
                   f'rotate(-90)">{html.escape(self.y_name)}</text>')
        return out

    def draw_series(self, colour, series, x, y):
        spots = [(self.place(a, x), self.place(b, y), a, b) for a, b in zip(series.x, series.y)]
        spots = [s for s in spots if None not in s]
        out = []
        if series.low:
            edge = [(self.place(a, x), self.place(b, y)) for a, b in zip(series.x, series.high)]
            edge += [(self.place(a, x), self.place(b, y)) for a, b in zip(series.x, series.low)][::-1]
            edge = [s for s in edge if None not in s]
            if edge:
                path = "L".join(f"{a:.1f} {b:.1f}" for a, b in edge)
                out.append(f'<path fill="{colour}" opacity=".15" d="M{path}z"/>')
        if series.kind == "line" and spots:
            path = "L".join(f"{a:.1f} {b:.1f}" for a, b, _, _ in spots)
            out.append(f'<path {stroke(colour, series.dashes)} d="M{path}"/>')
        if series.kind == "points":
            out += [f'<circle fill="{colour}" cx="{a:.1f}" cy="{b:.1f}" r="2.4"/>'
                    for a, b, _, _ in spots]
        elif series.dots and len(spots) <= 20:
            out += [f'<circle fill="{colour}" cx="{a:.1f}" cy="{b:.1f}" r="2.8"><title>'
                    f'{html.escape(series.name)}: {across:.6g}, {up:.4g}</title></circle>'
                    for a, b, across, up in spots]
        return out

    def coloured(self):
        """All series with their colours. A line without a name has the colour of the one before it."""
        out, at = [], -1
        for series in self.series:
            at += bool(series.name or at < 0)
            out.append((COLOURS[at % len(COLOURS)], series))
        return out

    def named(self):
        return [(colour, series) for colour, series in self.coloured() if series.name]

    def draw(self, legend=True):
        x, y = self.axes()
        out = self.draw_axes(x, y)
        for colour, series in self.coloured():
            out += self.draw_series(colour, series, x, y)
        return "\n".join(out + (self.draw_legend() if legend else []))

    def draw_legend(self):
        """The legend, in the right corner, as wide as the longest name."""
        named, out = self.named(), []
        left = WIDTH - RIGHT - 22 - max([74] + [6 * len(series.name) for _, series in named])
        top = HEIGHT - BOTTOM - 14 * len(named) if self.legend_low else TOP
        for row, (colour, series) in enumerate(named):
            at = top + 12 + 14 * row
            out.append(f'<rect fill="{colour}" x="{left}" y="{at - 7}" width="12" height="4"/>'
                       f'<text x="{left + 16}" y="{at}">{html.escape(series.name)}</text>')
        return out


def stroke(colour, dashes):
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'fill="none" stroke="{colour}" stroke-width="1.8"{dash}'


def draw_legend(panel):
    """The legend for all panels in one row, with the names of this panel's series."""
    return "\n".join(f'<path {stroke(colour, series.dashes)} d="M{LEFT + i * LEGEND_STEP} 8h24"/>'
                     f'<text x="{LEFT + i * LEGEND_STEP + 30}" y="12">{html.escape(series.name)}</text>'
                     for i, (colour, series) in enumerate(panel.named()))


STYLE = ("text { font: 11px sans-serif; fill: #222 } .t { font-size: 13px; font-weight: 600 } "
         ".g { stroke: #ddd; fill: none }")


def write(path, title, panels, below=False):
    """Writes panels side by side to a file. below: one legend for all, below them."""
    groups = [(i * WIDTH, 0, panel.draw(legend=not below)) for i, panel in enumerate(panels)]
    if below:
        groups.append((0, HEIGHT, draw_legend(panels[0])))
    width, height = len(panels) * WIDTH, HEIGHT + below * LEGEND
    body = "\n".join(f'<g transform="translate({x} {y})">\n{group}\n</g>' for x, y, group in groups)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                   f'width="{width}" height="{height}">\n<title>{html.escape(title)}</title>\n'
                   f'<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n'
                   f'{body}\n</svg>\n')
