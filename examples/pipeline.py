# %% [markdown]
# # A pipeline on one budget
#
# Scaling and principal components read the rows as well. Their private steps share one budget with the groups.

# %%
import numpy as np
from _common import picture, rows
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline

from shoal import Accountant, KMeans, PrivatePCA, PrivateScaler

rng = np.random.default_rng(0)
n = rows(80_000)
groups = rng.normal(0, 1, (4, 30))
table = 50 + 10 * groups[rng.integers(0, 4, n)] + rng.normal(0, 2, (n, 30))

# %%
budget = Accountant(epsilon=3.0, delta=3e-6)  # for everything that is done with this table
steps = make_pipeline(
    PrivateScaler(epsilon=0.5, delta=5e-7, bounds=(0, 100), budget=budget),
    PrivatePCA(3, epsilon=1.0, delta=1e-6, bounds=(-1, 1), budget=budget),
    KMeans(4, epsilon=1.0, delta=1e-6, bounds=(-1, 1), budget=budget),
).fit(table)
print("left for a fit with delta 1e-6: epsilon", round(float(budget.left_for(1e-6)), 2))

# %% [markdown]
# Centres go back to the table's own units step by step.

# %%
centres = steps[-1].cluster_centers_
for step in (steps[1], steps[0]):
    centres = step.inverse_transform(centres)
errors = [np.abs(centres - (50 + 10 * group)).mean(axis=1).min() for group in groups]
print("mean error of a coordinate, by group:", np.round(errors, 2))

# %%
figure = Figure(figsize=(7, 3.6), layout="constrained")
ax = figure.subplots()
for i, (group, colour) in enumerate(zip(groups, ("#0b7285", "#c4501b", "#5e35b1", "#2f7d32"), strict=True)):
    nearest = np.abs(centres - (50 + 10 * group)).sum(axis=1).argmin()
    ax.plot(
        50 + 10 * group,
        color=colour,
        alpha=0.3,
        linewidth=4,
        label="a group, as it was made" if i == 0 else None,
    )
    ax.plot(
        centres[nearest], ".", color=colour, markersize=6, label="its released centre" if i == 0 else None
    )
ax.set(xlabel="column", ylabel="value")
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, frameon=False, fontsize=9)
ax.set_title("Four groups in 30 columns, by way of three components", loc="left", fontsize=10)
figure.savefig(picture("pipeline"), dpi=120)
