"""What was measured: samples with their median and spread, and ratios between them, with goals.

The machines that this runs on are shared: what a figure is by itself says little, and what it is
beside another one of the same run says much. So alternatives are measured in turn, A B A B, and a
ratio is taken pair by pair.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median, quantiles
from typing import Literal

from msgspec import Struct

_MANY = 10


class Effort(Struct, frozen=True):
    """How much is measured: so many rounds of everything, each for about so many seconds."""

    rounds: int = 5
    seconds: float = 4.0


class Figure(Struct, frozen=True):
    """The samples of one thing, one for each round."""

    name: str
    unit: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.samples)


class Goal(Struct, frozen=True):
    """What a figure or ratio should be at least, or at most."""

    bound: Literal["≥", "≤"]
    value: float

    def is_met(self, value: float) -> bool:
        """Whether that is as it should be."""
        return value >= self.value if self.bound == "≥" else value <= self.value


class Row(Struct, frozen=True):
    """A line of the table: the figure, or with `beside` its ratio to that one, pair by pair."""

    figure: Figure
    beside: Figure | None = None
    goal: Goal | None = None

    @property
    def samples(self) -> tuple[float, ...]:
        if self.beside is None:
            return self.figure.samples
        pairs = zip(self.figure.samples, self.beside.samples, strict=True)
        return tuple(one / other for one, other in pairs)

    @property
    def median(self) -> float:
        return median(self.samples)

    @property
    def is_well(self) -> bool | None:
        """Whether the goal is met, if there is one."""
        return None if self.goal is None else self.goal.is_met(self.median)


class Section(Struct, frozen=True):
    """What was measured of one thing. `notes`: what a reader of the rows has to know."""

    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def interleaved(
    rounds: int, alternatives: Mapping[str, Callable[[], Mapping[str, float]]]
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Measure the alternatives in turn; what each of them gave by the names of its measures."""
    found: dict[str, list[Mapping[str, float]]] = {key: [] for key in alternatives}
    for _ in range(rounds):
        for key, measure in alternatives.items():
            found[key].append(measure())
    return {
        key: {name: tuple(sample[name] for sample in samples) for name in samples[0]}
        for key, samples in found.items()
    }


def lines(sections: Iterable[Section]) -> list[str]:
    """The tables as Markdown."""
    text = []
    for section in sections:
        text += [
            f"## {section.title}",
            "",
            "| what | median | from … to | goal |",
            "|---|---|---|---|",
        ]
        text += [_line(row) for row in section.rows]
        text += ["", *section.notes, *([""] if section.notes else [])]
    return text


def objects(sections: Sequence[Section]) -> list[dict[str, object]]:
    """The same for programs."""
    return [
        {
            "title": section.title,
            "notes": section.notes,
            "rows": [
                {
                    "name": row.figure.name,
                    "unit": row.figure.unit if row.beside is None else "ratio",
                    "beside": row.beside and row.beside.name,
                    "samples": row.samples,
                    "median": row.median,
                    "goal": row.goal and f"{row.goal.bound} {row.goal.value}",
                    "is_met": row.is_well,
                }
                for row in section.rows
            ],
        }
        for section in sections
    ]


def _line(row: Row) -> str:
    if row.beside is None:
        name, unit = row.figure.name, f" {row.figure.unit}"
    else:
        name, unit = f"{row.figure.name}: ratio to {row.beside.name}", ""
    goal = ""
    if row.goal is not None:
        goal = f"{row.goal.bound} {_number(row.goal.value)} {'met' if row.is_well else 'MISSED'}"
    first, last = _middle(row.samples)
    spread = f"{_number(first)} … {_number(last)}"
    return f"| {name} | {_number(row.median)}{unit} | {spread} | {goal} |"


def _middle(samples: Sequence[float]) -> tuple[float, float]:
    """From where to where half of many samples are, or else all of them."""
    if len(samples) < _MANY:
        return min(samples), max(samples)
    first, _, last = quantiles(samples, n=4)
    return first, last


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
