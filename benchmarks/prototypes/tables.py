"""Tables of the study: generated families with seeds of their own, and real ones. X is scaled to [-1, 1]^d by tight public bounds.

`held(name)` says whether a table is out of tuning (a third, by a hash of its name). Loose boxes: `loose(name, f)` gives lower and
upper bounds of a box f times too wide, the rows not in its middle."""
from __future__ import annotations
import hashlib, json, os, tomllib
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ.get("SHOAL_DATA", "data")


def held(name: str) -> bool:
    return hashlib.sha256(name.encode()).digest()[0] % 3 == 0


def seed_of(*parts) -> int:
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:4], "big")


def centres_apart(rng, k, d, span=0.8, tries=200):
    best, gap = None, -1.0
    for _ in range(tries):
        c = rng.uniform(-span, span, (k, d))
        g = np.sqrt(((c[:, None] - c[None]) ** 2).sum(2))[np.triu_indices(k, 1)].min() if k > 1 else 1.0
        if g > gap:
            best, gap = c, g
    return best, gap


def pick(rng, n, sizes):
    p = np.asarray(sizes, float)
    return rng.choice(len(p), n, p=p / p.sum())


def gauss(rng, n, d, k):
    c, gap = centres_apart(rng, k, d)
    sd = min(0.12, gap / 8 if d <= 2 else gap / (4 * np.sqrt(d)))
    return c[rng.integers(0, k, n)] + rng.normal(0, sd, (n, d))


def unequal(rng, n, d, k=8, ratio=None):
    c, gap = centres_apart(rng, k, d)
    sizes = [0.37, 0.33, 0.225] + [0.015] * (k - 3) if ratio is None else np.geomspace(ratio, 1, k)
    return c[pick(rng, n, sizes)] + rng.normal(0, gap / 12, (n, d))


def squares(rng, n, d, k):
    c, gap = centres_apart(rng, k, d, 0.75)
    return c[rng.integers(0, k, n)] + rng.uniform(-gap / 2.5, gap / 2.5, (n, d))


def rings(rng, n, d, k):
    c, gap = centres_apart(rng, k, d, 0.7)
    u = rng.normal(size=(n, d))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return c[rng.integers(0, k, n)] + u * gap / 2.5 + rng.normal(0, gap / 40, (n, d))


def corner(rng, n, d, k):  # rows in a thousandth of the box
    side = 0.001 ** (1 / d)
    where = rng.uniform(-0.9, 0.9, d)
    return np.clip(where + side * np.clip(gauss(rng, n, d, k), -1, 1), -1, 1)


def city(rng, n, d, k):  # crowding, with a thin spread and two far groups
    s = rng.normal(0, 0.07, (n, d)) * np.geomspace(1, 0.3, d) @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    knots = rng.normal(0, 0.1, (12, d))
    i = rng.integers(0, 12, n)
    s = np.where(rng.random((n, 1)) < 0.5, s, knots[i] + rng.normal(0, 0.015, (n, d)))
    far = rng.random(n)
    s[far < 0.05] = rng.normal(0, 0.01, (int((far < 0.05).sum()), d)) + 0.5
    s[far > 0.96] = rng.normal(0, 0.2, (int((far > 0.96).sum()), d))
    return s - 0.25


def line(rng, n, d, k):  # rows along a line in a wide box, in k pieces
    a, b = rng.uniform(-0.9, 0.9, d), rng.uniform(-0.9, 0.9, d)
    t = (rng.integers(0, k, n) + rng.uniform(0.1, 0.9, n)) / k
    return a + t[:, None] * (b - a) + rng.normal(0, 0.01, (n, d))


def tails(rng, n, d, k):
    c, gap = centres_apart(rng, k, d, 0.7)
    return c[rng.integers(0, k, n)] + gap / 12 * rng.standard_t(2, (n, d))


def broad(rng, n, d, k):
    c, gap = centres_apart(rng, k, d)
    return c[rng.integers(0, k, n)] + rng.normal(0, gap / 3.5, (n, d))


def overlap(rng, n, d):
    u = rng.normal(size=d)
    u /= np.linalg.norm(u)
    return np.where(rng.random((n, 1)) < 0.5, 1, -1) * 0.25 * u + rng.normal(0, 0.2, (n, d))


def arcs(rng, n, d, k):
    c, gap = centres_apart(rng, k, d, 0.65)
    i = rng.integers(0, k, n)
    a = rng.uniform(0, 1, n) * np.pi + i
    return c[i] + gap / 2.2 * np.c_[np.cos(a), np.sin(a)] + rng.normal(0, gap / 40, (n, d))


FAMILIES = {
    "unequal2": (unequal, 20000, 2, 8, {}), "unequal2b": (unequal, 8000, 2, 8, {}), "ratio2": (unequal, 20000, 2, 8, {"ratio": 100}),
    "unequal3": (unequal, 30000, 3, 8, {}), "unequal5": (unequal, 30000, 5, 8, {}), "ratio5": (unequal, 30000, 5, 8, {"ratio": 100}),
    "ratio10": (unequal, 30000, 10, 6, {"ratio": 100}),
    "squares2": (squares, 10000, 2, 9, {}), "squares2b": (squares, 20000, 2, 6, {}), "squares3": (squares, 20000, 3, 8, {}), "squares4": (squares, 30000, 4, 6, {}),
    "rings2": (rings, 10000, 2, 6, {}), "rings3": (rings, 20000, 3, 5, {}), "arcs2": (arcs, 10000, 2, 7, {}),
    "corner2": (corner, 20000, 2, 5, {}), "corner3": (corner, 20000, 3, 5, {}), "corner5": (corner, 20000, 5, 5, {}), "corner10": (corner, 30000, 10, 5, {}),
    "city2": (city, 40000, 2, 8, {}), "city3": (city, 40000, 3, 6, {}),
    "line2": (line, 10000, 2, 5, {}), "line3": (line, 10000, 3, 6, {}), "line5": (line, 20000, 5, 4, {}), "line10": (line, 20000, 10, 4, {}),
    "tails2": (tails, 10000, 2, 6, {}), "tails3": (tails, 20000, 3, 5, {}), "tails5": (tails, 20000, 5, 5, {}), "tails10": (tails, 20000, 10, 5, {}),
    "broad2": (broad, 10000, 2, 15, {}), "broad3": (broad, 20000, 3, 10, {}), "broad5": (broad, 20000, 5, 8, {}),
    "fifty2": (gauss, 30000, 2, 50, {}), "fifty2b": (broad, 50000, 2, 50, {}), "twenty3": (gauss, 30000, 3, 20, {}),
    "many10": (gauss, 30000, 10, 20, {}), "many12": (gauss, 50000, 12, 25, {}), "many20": (gauss, 50000, 20, 30, {}), "many15": (gauss, 40000, 15, 20, {}),
    "overlap16": (lambda rng, n, d, k: overlap(rng, n, d), 10000, 16, 2, {}), "overlap8": (lambda rng, n, d, k: overlap(rng, n, d), 10000, 8, 2, {}),
    "small20": (gauss, 2000, 20, 5, {}), "small30": (gauss, 2000, 30, 8, {}), "small40": (gauss, 2000, 40, 5, {}),
    **{f"gauss{d}_{k}": (gauss, 10000, d, k, {}) for d in (2, 5, 10) for k in (2, 5, 10)}, "gauss3_4": (gauss, 100000, 3, 4, {}),
}
REAL = {  # name: file, columns, k
    "s1": ("s1", None, 15), "s2": ("s2", None, 15), "a1": ("a1", None, 20), "a2": ("a2", None, 35), "d31": ("d31", None, 31),
    "adult": ("adult", None, 5), "taxi4": ("nyc_taxi_2015_01", None, 10), "pickups": ("nyc_taxi_2015_01", 2, 5), "pickups10": ("nyc_taxi_2015_01", 2, 10),
    "image": ("image_rgb", None, 3), "lifesci": ("lifesci", None, 3), "birch": ("birch_rg1", None, 100), "mopsi": ("mopsi_finland", None, 10),
    "gowalla": ("gowalla_poi", None, 5), "blood": ("blood", None, None), "electrical": ("electrical", None, None), "reviews": ("google_reviews", None, None),
    "credit": ("credit_card", None, None), "dim32": ("dim32", None, None), "tripadvisor": ("tripadvisor", None, None), "walking": ("walking_accelerometer", None, None),
}
SKLEARN = {"iris": 3, "wine": 3, "breast": 2, "digits": 10}
NAMES = list(FAMILIES) + list(REAL) + list(SKLEARN)
_CACHE: dict = {}


def load(name: str):
    """X in [-1, 1]^d (float64), k, non-private NICV (best of ten starts)."""
    if name in _CACHE:
        return _CACHE[name]
    path = f"{HERE}/cache/{name}.npz"
    if os.path.exists(path):
        z = np.load(path)
        got = z["X"].astype(float), int(z["k"]), float(z["base"])
    else:
        X, k = _make(name)
        from sklearn.cluster import KMeans
        m = KMeans(k, n_init=10, random_state=0).fit(X)
        d2 = m.inertia_ / len(X)
        np.savez_compressed(path, X=X, k=k, base=d2)
        got = X, k, d2
    _CACHE[name] = got
    return got


def _make(name):
    if name in FAMILIES:
        f, n, d, k, more = FAMILIES[name]
        rng = np.random.default_rng(seed_of("flagship", name))
        return np.clip(f(rng, n, d, k, **more), -1, 1), k
    if name in SKLEARN:
        from sklearn import datasets as D
        X = getattr(D, {"breast": "load_breast_cancer"}.get(name, "load_" + name))().data.astype(float)
        if name == "iris":
            lo, up = np.array([4, 2, 1, 0.]), np.array([8, 5, 7, 3.])
        elif name == "wine":
            lo = np.array([11, .5, 1, 10, 70, .5, 0, 0, 0, 1, .4, 1, 250]); up = np.array([15, 6, 3.5, 30, 165, 4, 5.5, .7, 4, 13, 1.8, 4, 1700])
        elif name == "breast":
            m = X.max(0); p = 10.0 ** np.floor(np.log10(m)); lo, up = np.zeros(len(m)), (np.floor(m / p) + 1) * p
        else:
            lo, up = np.zeros(64), np.full(64, 16.0)
        return np.clip(2 * (X - lo) / (up - lo) - 1, -1, 1), SKLEARN[name]
    import pandas as pd
    f, cols, k = REAL[name]
    meta = tomllib.load(open(f"{DATA}/datasets.toml", "rb"))[f]
    names = meta["column_names"]
    X = pd.read_parquet(f"{DATA}/{f}.parquet")[names].to_numpy(float)
    lo, up = np.array(meta["lower"], float) * np.ones(len(names)), np.array(meta["upper"], float) * np.ones(len(names))
    if name == "birch":
        lo, up = np.floor(X.min(0) / 5) * 5, np.ceil(X.max(0) / 5) * 5
    if cols:
        X, lo, up = X[:, :cols], lo[:cols], up[:cols]
    if len(X) > 100000:
        X = X[np.random.default_rng(0).choice(len(X), 100000, replace=False)]
    return np.clip(2 * (X - lo) / (up - lo) - 1, -1, 1), k or int(meta["k"])


def loose(name: str, f: float, d: int):
    """Lower and upper bounds of a box f times as wide as [-1, 1]^d, which lies somewhere in it."""
    if f == 1:
        return -np.ones(d), np.ones(d)
    mid = np.random.default_rng(seed_of("loose", name, f)).uniform(-0.85, 0.85, d) * (f - 1)
    return mid - f, mid + f


if __name__ == "__main__":
    import time
    for n in NAMES:
        s = time.time(); X, k, b = load(n)
        print(n, X.shape, k, round(b, 5), "HELD" if held(n) else "", round(time.time() - s, 1), flush=True)
