"""What `NearBoostClassifier` tried, what it chose and how long it took."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter


@dataclass
class Report:
    """What was tried and what was chosen; ``print`` shows it as a table.

    Attributes
    ----------
    tried : list of (str, str, float)
        Step, candidate and held-out log-loss, the lower the better.
    chosen : dict
        What was chosen in each step.
    seconds : dict
        How long each step took.
    notes : list of str
        What to keep in mind about the figures.
    """

    tried: list[tuple[str, str, float]] = field(default_factory=list)
    chosen: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time inside to a step's."""
        started = perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + perf_counter() - started

    def __str__(self) -> str:
        lines = [f"{step:<10} {choice}" for step, choice in self.chosen.items()]
        if self.tried:
            lines += ["", "held-out log-loss"]
            lines += [f"{loss:8.4f}  {step}: {candidate}" for step, candidate, loss in self.tried]
        if self.seconds:  # no model file keeps them
            lines += ["", "seconds  " + ", ".join(f"{step} {spent:.2f}" for step, spent in self.seconds.items())]
        return "\n".join([*lines, *self.notes])
