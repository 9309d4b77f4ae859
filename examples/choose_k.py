# %% [markdown]
# # How many groups?
#
# `n_clusters="auto"` counts them on released values: it costs nothing beside the fit.

# %%
from _common import picture, rows

from shoal import KMeans, datasets

data = datasets.load("gaussians", n=rows(40_000), d=2, k=7)
model = KMeans("auto", epsilon=1.0, bounds=data.bounds).fit(data.X)
print("groups:", len(model.cluster_centers_), "of 7 that the rows were made of")
print(model.cost_curve_.why)

# %%
axes = model.plot_cost_curve()
axes.figure.savefig(picture("choose_k"), dpi=120)
