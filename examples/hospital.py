# %% [markdown]
# # Segments of patients: categories, and several stays per person
#
# A hospital has a table of stays. One person may have many. It wants to publish what kinds of stays there are.

# %%
import numpy as np
import pandas as pd
from _common import picture, rows
from matplotlib.figure import Figure

from shoal import KMeans

rng = np.random.default_rng(0)
n = rows(60_000)
kind = rng.choice(3, n, p=[0.5, 0.3, 0.2])  # short planned stays, emergencies of the old, long stays
stays = pd.DataFrame(
    {
        "patient": rng.integers(0, n // 2, n).astype(str),
        "age": np.clip(rng.normal([45, 76, 60], [12, 8, 15], (n, 3))[np.arange(n), kind], 0, 100),
        "days": np.clip(rng.gamma(4, [0.6, 1.8, 7.0], (n, 3))[np.arange(n), kind], 0, 60),
        "ward": pd.Categorical(np.array(["surgery", "emergency", "medicine"])[kind]),
    }
)

# %% [markdown]
# Who is protected is a *patient*, with at most three of their stays. Bounds and levels are what is known without the table.

# %%
model = KMeans(
    3,
    epsilon=1.0,
    bounds={"age": (0, 100), "days": (0, 60)},
    levels={"ward": ["surgery", "emergency", "medicine"]},
    unit="patient",
    max_rows=3,
).fit(stays)
names = list(model.release_.names)
groups = pd.DataFrame(model.cluster_centers_, columns=names).assign(size=model.cluster_sizes_)
print(groups.round(1).to_string(index=False))
print(model.certificate_.unit, model.certificate_.guarantee)

# %%
figure = Figure(figsize=(6, 3.6), layout="constrained")
ax = figure.subplots()
area = groups["size"] / groups["size"].max() * 900
ax.scatter(groups["age"], groups["days"], s=area, color="#0b7285", alpha=0.7)
wards = [name for name in names if name.startswith("ward")]
for _, group in groups.iterrows():
    most = max(wards, key=lambda ward: group[ward])
    ax.annotate(
        f"{most.split('=')[-1]}: {group['size']:,.0f} ± {2 * model.release_.size_sd:,.0f}",
        (group["age"], group["days"]),
        (0, 20),
        textcoords="offset points",
        ha="center",
    )
ax.set(xlabel="age (years)", ylabel="length of stay (days)", xlim=(0, 100), ylim=(0, 40))
ax.set_title(
    "Kinds of stays, epsilon = 1 per patient (area: size, ± two sd of its noise)", loc="left", fontsize=10
)
figure.savefig(picture("hospital"), dpi=120)
