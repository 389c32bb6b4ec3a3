# SPDX-License-Identifier: Apache-2.0
"""Charts of the figures in docs/pictures: panels side by side, axes with round ticks, lines with
bands, points. Plain SVG on white, the same bytes for the same numbers."""
import html
import math

# after Okabe and Ito, dark enough on white
COLOURS = ("#0060a0", "#c05000", "#007a55", "#a03878", "#6b5500", "#2f2f2f", "#5a86c5")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 360, 270, 62, 14, 34, 44


def ticks(low, high, log):
    """Where an axis has ticks: round numbers within low..high."""
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


class Panel:
    """One chart. Series are (name, x, y), maybe with low and high of a band."""

    def __init__(self, title, x_name, y_name, log_x=False, log_y=False):
        self.title, self.x_name, self.y_name = title, x_name, y_name
        self.log_x, self.log_y = log_x, log_y
        self.series = []

    def line(self, name, x, y, low=None, high=None, dashes=""):
        self.series.append(("line", name, list(x), list(y), low, high, dashes))

    def points(self, name, x, y):
        self.series.append(("points", name, list(x), list(y), None, None, ""))

    def range_of(self, log, columns):
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
        low, high, begin, end, log = axis
        if value is None or not math.isfinite(value) or (log and value <= 0):
            return None
        value = math.log10(value) if log else value
        return begin + (value - low) / (high - low) * (end - begin)

    def axes(self):
        x = self.range_of(self.log_x, [s[2] for s in self.series])
        y = self.range_of(self.log_y, [c for s in self.series for c in (s[3], s[4], s[5]) if c])
        return ((*x, LEFT, WIDTH - RIGHT, self.log_x), (*y, HEIGHT - BOTTOM, TOP, self.log_y))

    def draw_axes(self, x, y):
        out = [f'<text class="t" x="{LEFT}" y="18">{html.escape(self.title)}</text>']
        for value in ticks(x[0], x[1], x[4]):
            at = x[2] + (value - x[0]) / (x[1] - x[0]) * (x[3] - x[2])
            out.append(f'<path class="g" d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}"/><text '
                       f'text-anchor="middle" x="{at:.1f}" y="{HEIGHT - BOTTOM + 15}">'
                       f'{number(value, x[4])}</text>')
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

    def draw_series(self, i, series, x, y):
        kind, _, across, up, low, high, dashes = series
        colour = COLOURS[i % len(COLOURS)]
        spots = [(self.place(a, x), self.place(b, y)) for a, b in zip(across, up)]
        spots = [s for s in spots if None not in s]
        out = []
        if low:
            edge = [(self.place(a, x), self.place(b, y)) for a, b in zip(across, high)]
            edge += [(self.place(a, x), self.place(b, y)) for a, b in zip(across, low)][::-1]
            edge = [s for s in edge if None not in s]
            if edge:
                path = "L".join(f"{a:.1f} {b:.1f}" for a, b in edge)
                out.append(f'<path fill="{colour}" opacity=".15" d="M{path}z"/>')
        if kind == "line" and spots:
            path = "L".join(f"{a:.1f} {b:.1f}" for a, b in spots)
            dash = f' stroke-dasharray="{dashes}"' if dashes else ""
            out.append(f'<path fill="none" stroke="{colour}" stroke-width="1.8"{dash} d="M{path}"/>')
        if kind == "points" or len(spots) <= 20:
            size = 2.4 if kind == "points" else 2.8
            out += [f'<circle fill="{colour}" cx="{a:.1f}" cy="{b:.1f}" r="{size}"/>' for a, b in spots]
        return out

    def draw(self):
        x, y = self.axes()
        out = self.draw_axes(x, y)
        for i, series in enumerate(self.series):
            out += self.draw_series(i, series, x, y)
        names = [(i, s[1]) for i, s in enumerate(self.series) if s[1]]
        for row, (i, name) in enumerate(names):
            at = TOP + 12 + 14 * row
            out.append(f'<rect fill="{COLOURS[i % len(COLOURS)]}" x="{WIDTH - RIGHT - 96}" y="{at - 7}" '
                       f'width="12" height="4"/><text x="{WIDTH - RIGHT - 80}" y="{at}">'
                       f'{html.escape(name)}</text>')
        return "\n".join(out)


STYLE = ("text { font: 11px sans-serif; fill: #222 } .t { font-size: 13px; font-weight: 600 } "
         ".g { stroke: #ddd; fill: none }")


def write(path, title, panels):
    """panels, side by side, as a file."""
    body = "\n".join(f'<g transform="translate({i * WIDTH} 0)">\n{panel.draw()}\n</g>'
                     for i, panel in enumerate(panels))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(panels) * WIDTH} {HEIGHT}" '
                   f'width="{len(panels) * WIDTH}" height="{HEIGHT}">\n<title>{html.escape(title)}</title>\n'
                   f'<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n'
                   f'{body}\n</svg>\n')
