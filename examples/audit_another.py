# %% [markdown]
# # Does somebody else's code leak?
#
# The audit runs any mechanism many times on two tables that differ in one row, and looks for what tells them apart. Here: a
# k-means that adds noise to sums, but divides by the exact count, as one finds in the wild.

# %%
import numpy as np
from _common import picture, runs
from matplotlib.figure import Figure

from shoal.audit import audit


def homemade(table: np.ndarray) -> np.ndarray:
    """Return "private" centres around two fixed points, epsilon 1."""
    rng = np.random.default_rng()
    starts = np.array([[-0.5], [0.5]])
    labels = np.abs(table - starts.T).argmin(axis=1)
    sums = np.array([table[labels == i].sum() for i in (0, 1)]) + rng.laplace(scale=1.0, size=2)
    counts = np.array([(labels == i).sum() for i in (0, 1)])
    return sums / counts  # nan where a group is empty: the leak


# %%
alone = np.array([[-0.4], [-0.6]])  # nobody in the right group
with_one = np.array([[-0.4], [-0.6], [0.9]])  # one person more
found = audit(homemade, alone, with_one, epsilon=1.0, runs=runs(4_000))
print(found)
print(
    "passed:",
    found.passed,
    "- it loses at least",
    round(found.epsilon_lower, 2),
    "and claims",
    found.epsilon_claimed,
)

# %%
figure = Figure(figsize=(6, 2.2), layout="constrained")
ax = figure.subplots()
shown = [found.epsilon_claimed, found.epsilon_lower]
bars = ax.barh(["claimed", "lost at least"], shown, color=["#9cc9ea", "#b3261e"])
ax.bar_label(bars, fmt="%.3g", padding=3)
ax.set(xlabel=f"epsilon ({found.confidence:.0%} sure)", xlim=(0, 1.15 * max(shown)))
ax.spines[["top", "right"]].set_visible(False)
ax.set_title("Noise on sums, exact counts below them", loc="left", fontsize=10)
figure.savefig(picture("audit_another"), dpi=120)
