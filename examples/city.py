# %% [markdown]
# # Hot spots of a city, on a map
#
# A transport agency has pick-ups of taxis, and wants to publish where they crowd.

# %%
import pandas as pd
from _common import picture, rows

from shoal import KMeans, datasets

city = datasets.load("city_pickups", n=rows(200_000))
print(city.names, city.n_rows, "rows of a made-up city")

# %% [markdown]
# The bounds are the city's limits, which everybody knows. `scaling="earth"` measures distance on the ground.

# %%
table = pd.DataFrame(city.X, columns=list(city.names))
bounds = {name: (float(low), float(high)) for name, low, high in zip(city.names, *city.bounds, strict=True)}
model = KMeans(8, epsilon=0.5, bounds=bounds, scaling="earth").fit(table)
print(model.cluster_centers_.round(4))

# %%
figure = model.release_.plot()
figure.savefig(picture("city"), dpi=120)
