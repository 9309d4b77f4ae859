# %% [markdown]
# # A cluster of Dask
#
# The table is too large for one machine: a folder of Parquet files that workers read. Here they are two processes of this machine;
# elsewhere it is `Client("tcp://scheduler:8786")`, and nothing else changes.

# %%
import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from _common import picture, rows
from distributed import Client
from distributed.deploy.subprocess import SubprocessCluster
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from shoal import KMeans, datasets

folder = Path(tempfile.mkdtemp())
city = datasets.load("city_pickups", n=rows(2_000_000))
rng = np.random.default_rng(0)
table = pd.DataFrame(city.X, columns=list(city.names)).assign(
    rider=rng.integers(0, city.n_rows // 4, city.n_rows)
)
for i, part in enumerate(np.array_split(np.arange(len(table)), 8)):
    table.iloc[part].to_parquet(folder / f"part-{i}.parquet")

# %% [markdown]
# A rider has several trips, so a rider is protected, with at most four of them. The trips of one rider lie in several files: workers
# bring them together among themselves, by a keyed hash, and no process ever holds all riders.

# %%
cluster = SubprocessCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
client = Client(cluster)
client.wait_for_workers(2)
bounds = {name: (float(low), float(high)) for name, low, high in zip(city.names, *city.bounds, strict=True)}
trips = dd.read_parquet(folder)
model = KMeans(8, epsilon=1.0, bounds=bounds, unit="rider", max_rows=4, scaling="earth").fit(trips)
moved = sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())
print(
    f"{trips.npartitions} partitions, {len(client.ncores())} workers; they sent {moved / 1e6:,.1f} MB in all"
)
print(model.certificate_.unit)

# %% [markdown]
# What is released does not depend on where it was computed. With one seed for both, which a real release never has, the groups are
# those of the same table in memory, to the last bit.

# %%
seeded = KMeans(8, epsilon=1.0, bounds=bounds, unit="rider", max_rows=4, scaling="earth", random_state=0)
there = seeded.fit(trips).cluster_centers_
here = seeded.fit(table).cluster_centers_
print("the same as in memory:", np.array_equal(there, here))
client.close()
cluster.close()

# %%
figure = Figure(figsize=(5, 5.6), layout="constrained")
ax = figure.subplots()
some = table.sample(4_000, random_state=0)  # made up, so it may be shown
ax.scatter(
    some["longitude"],
    some["latitude"],
    s=2,
    color="#9aa5b1",
    alpha=0.5,
    linewidths=0,
    label="some made-up trips",
)
sizes = model.cluster_sizes_
centres = model.cluster_centers_
ax.scatter(*centres.T, s=900 * sizes / sizes.max(), color="#0b7285", alpha=0.5, linewidths=0)
ax.scatter(*centres.T, s=16, color="#12355b", linewidths=0, label="released centre (area: size)")
ax.set(
    xlabel="longitude",
    ylabel="latitude",
    aspect=1 / np.cos(np.radians(40.7)),
    xlim=(-74.06, -73.74),
    ylim=(40.6, 40.88),
)
ax.xaxis.set_major_locator(MaxNLocator(4))
ax.set_title("Eight groups, on two workers; epsilon = 1 per rider", loc="left", fontsize=10)
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False, fontsize=8, markerscale=2)
figure.savefig(picture("dask_cluster"), dpi=120)
