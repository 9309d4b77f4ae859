# %% [markdown]
# # Regions in parallel, months adding up: one ledger
#
# A budget in a ledger survives, and several people share it. Disjoint regions cost as much as the worst of them; months of the
# same people add up.

# %%
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from _common import picture, rows
from click.testing import CliRunner
from matplotlib.figure import Figure

from shoal import Accountant, KMeans
from shoal.cli import main

folder = Path(tempfile.mkdtemp())
ledger = str(folder / "budget.ledger")


def shoal(*words: str) -> None:
    """Run a command, as in a terminal."""
    print(CliRunner().invoke(main, list(words), catch_exceptions=False).output)


shoal("budget", "create", "visits", "--epsilon", "4", "--parts", "region=north,south", "--ledger", ledger)

# %%
rng = np.random.default_rng(0)
n = rows(40_000)
visits = pd.DataFrame(
    {
        "region": pd.Categorical(rng.choice(["north", "south"], n)),
        "x": rng.normal(rng.choice([2, 8], n), 0.5).clip(0, 10),
        "y": rng.normal(5, 1, n).clip(0, 10),
    }
)
bounds = {"x": (0, 10), "y": (0, 10)}
left = [4.0]
for region in ("north", "south"):  # disjoint: together they cost 1, not 2
    part = Accountant.open(ledger, "visits", part={"region": region})
    KMeans(2, epsilon=1.0, bounds=bounds, budget=part).fit(visits)
    left.append(float(Accountant.open(ledger, "visits").left))
for _month in ("January", "February"):  # the whole table, twice: these add up
    KMeans(2, epsilon=1.0, bounds=bounds, budget=Accountant.open(ledger, "visits")).fit(visits)
    left.append(float(Accountant.open(ledger, "visits").left))
print("left after each:", [round(value, 3) for value in left])
shoal("budget", "history", "visits", "--ledger", ledger)

# %%
figure = Figure(figsize=(6, 3), layout="constrained")
ax = figure.subplots()
bars = ax.bar(["created", "north", "south", "January", "February"], left, color="#0b7285", width=0.6)
ax.bar_label(bars, fmt="%.2g", padding=2)
ax.set(ylabel="epsilon left for the whole", ylim=(0, 4.6))
ax.spines[["top", "right"]].set_visible(False)
ax.set_title("Two regions cost as much as one; every month costs its own", loc="left", fontsize=10)
figure.savefig(picture("regions_and_months"), dpi=120)
