"""Rounds that follow the rows: relative clipped offsets with noise in the shape of a box or a ball; a round moves, it never removes."""
from __future__ import annotations
import math
import numpy as np
from lib import *
EDGES = 2.0 ** (np.arange(-8, 9) / 2)

def spreads_of(b, C, keep):
    """sd of rows around each centre, a column, from believed cells (k, d)."""
    lab, _ = nearest(b.mid[keep], C)
    w = np.maximum(b.z[keep], 0)
    k, d = C.shape
    mass = np.bincount(lab, w, k)
    sq = np.empty((k, d))
    for c in range(d):
        sq[:, c] = np.bincount(lab, w * ((b.mid[keep][:, c] - C[lab, c]) ** 2 + b.width[keep][:, c] ** 2 / 12), k)
    common = sq.sum(0) / max(mass.sum(), 1)
    prior = 0.02 * max(mass.sum(), 1) / k
    return np.sqrt((sq + prior * common) / (mass[:, None] + prior))

def follow(X, C, S, n_hat, eps, rng, inside=0.8, look=0.05, body=None, prior=None, raw=False):
    """One round. Returns centres, counts, variance of each centre's coordinates (k, d), count sd."""
    k, d = C.shape
    body = body or ("box" if d < 7 else "ball")
    lab, _ = nearest(X, C)
    off = (X - C[lab]) / S[lab]
    t = np.abs(off).max(1) if body == "box" else np.linalg.norm(off, axis=1)
    cnt = np.bincount(np.searchsorted(EDGES, t), minlength=len(EDGES) + 1) + laplace(rng, 1 / (look * eps), len(EDGES) + 1)
    cum = np.cumsum(cnt)
    sdc = math.sqrt(2) / (look * eps)
    hit = np.flatnonzero(cum[:-1] >= inside * n_hat)
    usual = 2.0 if body == "box" else math.sqrt(d) * 1.2
    R = EDGES[hit[0]] if len(hit) and sdc * math.sqrt(len(EDGES)) < 0.15 * n_hat else usual
    rad = S * R
    e = (1 - look) * eps
    rel = off / R
    rel = np.clip(rel, -1, 1) if body == "box" else rel / np.maximum(np.linalg.norm(rel, axis=1, keepdims=True), 1)
    zs, zc = knorm(rng, e, k, d, body)
    sums = np.column_stack([np.bincount(lab, rel[:, c], k) for c in range(d)]) + zs
    counts = np.bincount(lab, minlength=k) + zc
    csd = count_sd(d) / e if body == "box" else count_sd(d) / e
    ssd = sum_sd(d, body) / e
    rows = np.maximum(counts, 2 * csd)[:, None]
    if prior is not None:  # the look has counted them as well
        pc, pv = prior
        rows = np.maximum((counts * pv + pc * csd**2) / (pv + csd**2), csd)[:, None]
    steps = sums / rows
    noise = (ssd / rows) ** 2
    sig = 2.0 ** np.arange(-30, 1)
    fit = (np.log(sig[:, None, None] + noise) + steps**2 / (sig[:, None, None] + noise)).sum((1, 2))
    s2 = sig[np.argmin(fit)]
    trust = s2 / (s2 + noise)
    new = np.clip(C + rad * np.clip(steps * trust, -1, 1), -1, 1)
    return new, (counts if raw else rows[:, 0]), (rad**2 * noise * trust), csd

def look_counts(b, C):
    lab, _ = nearest(b.mid[b.keep], C)
    return np.bincount(lab, b.z[b.keep], len(C)), np.maximum(np.bincount(lab, b.v[b.keep], len(C)), 1.0)
