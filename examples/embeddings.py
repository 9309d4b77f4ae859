# %% [markdown]
# # Embeddings: many columns
#
# A company has an embedding of every customer's tickets, in 64 columns, and wants to share what they are about.

# %%
import numpy as np
from _common import picture, rows
from matplotlib.figure import Figure

from shoal import KMeans

rng = np.random.default_rng(1)
n, d, k = rows(100_000), 64, 6
topics = rng.normal(0, 1, (k, d))
topics /= np.linalg.norm(topics, axis=1, keepdims=True)
X = topics[rng.integers(0, k, n)] + rng.normal(0, 0.05, (n, d))
X /= np.linalg.norm(X, axis=1, keepdims=True)  # each row by itself: that is allowed before a fit

# %% [markdown]
# In many columns a small delta makes noise much smaller. Rows have length 1, so no cell is beyond 1; most are far below, and
# half of that is a public bound that cuts off next to nothing.

# %%
model = KMeans(k, epsilon=1.0, delta=1e-7, bounds=(-0.6, 0.6)).fit(X)
centres = model.cluster_centers_ / np.linalg.norm(model.cluster_centers_, axis=1, keepdims=True)
alike = centres @ topics.T
print("cosine to the nearest true topic:", alike.max(axis=1).round(3))

# %%
figure = Figure(figsize=(5, 4.2), layout="constrained")
ax = figure.subplots()
order = alike.argmax(axis=1).argsort()
image = ax.imshow(alike[order], cmap="Blues", vmin=0, vmax=1)
ax.set(xlabel="topic that the rows were made of", ylabel="released centre", xticks=range(k), yticks=range(k))
figure.colorbar(image, label="cosine")
ax.set_title("Six topics in 64 columns, epsilon = 1, delta = 1e-7", loc="left", fontsize=10)
figure.savefig(picture("embeddings"), dpi=120)
