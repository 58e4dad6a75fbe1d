"""A whole study in one script: python examples/study.py FOLDER."""

import sys
from dataclasses import dataclass
from pathlib import Path

import monmdp
from monmdp.agents import QLearner
from monmdp.agents.choices import choose, smallest
from monmdp.figures import draw_figure
from monmdp.report import write_page


@dataclass(frozen=True, kw_only=True)
class Patient(QLearner):
    """Tries every action of a state `patience` times before it is greedy."""

    patience: int = 10

    @staticmethod
    def act(memory, state, draws):
        counts = memory.visits[state * memory.q.shape[1] : (state + 1) * memory.q.shape[1]]
        if smallest(counts) < memory.patience:
            return choose(-counts, draws), True
        return choose(memory.q[state], draws), False


@dataclass(frozen=True)
class Shifts(monmdp.Monitor):
    """Answers questions; a question costs `fee` during the night shift. Shifts change every step."""

    fee: float = 0.2
    states = ("day", "night")
    actions = ("wait", "ask")

    def outcomes(self, moment):
        asked, night = moment.action == "ask", moment.state == "night"
        reward = -self.fee if asked and night else 0.0
        yield monmdp.Outcome(observed=asked, next_state="day" if night else "night", reward=reward)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "study")
    folder.mkdir(parents=True, exist_ok=True)
    problem = monmdp.make("Hazard", Shifts())
    comparison = monmdp.compare(problem, [Patient(), "Naive", "UCB"], seeds=20, steps=20_000)
    print(comparison, end="\n\n")
    comparison.plot(path=folder / "returns.png")
    comparison["Patient"].heatmap("visits", path=folder / "visits.png")
    print(comparison.to_pandas().groupby("agent")[["return", "observed"]].mean().round(3), end="\n\n")
    agents = ["Naive", monmdp.grid(Patient, patience=[1, 3, 10, 30])]
    sweep = monmdp.Sweep(["Hazard"], [Shifts()], agents, seeds=20, steps=20_000, points=100)
    monmdp.run_sweep(sweep, folder / "results")
    rows = monmdp.load(folder / "results").to_pandas()
    print(rows[rows.step == 20_000].groupby(["agent", "patience"], dropna=False)["return"].mean().round(4))
    draw_figure("sensitivity", folder / "results")
    write_page(folder / "results")
