"""Kernels and public arithmetic of the prototype: float noise, nothing here is private by itself."""
from __future__ import annotations
import math
import numpy as np
from numba import njit

@njit(cache=True, fastmath=True)
def assign(X, C, lab, d2):
    n, d = X.shape
    k = C.shape[0]
    for i in range(n):
        b, bj = np.inf, 0
        for j in range(k):
            s = 0.0
            for c in range(d):
                t = X[i, c] - C[j, c]
                s += t * t
                if s > b: break
            if s < b:
                b, bj = s, j
        lab[i] = bj; d2[i] = b

def nearest(X, C):
    lab = np.empty(len(X), np.int64); d2 = np.empty(len(X))
    assign(np.ascontiguousarray(X), np.ascontiguousarray(C), lab, d2)
    return lab, d2

def nicv(X, C):
    return nearest(X, C)[1].mean()

@njit(cache=True, fastmath=True)
def lloyd(P, w, C, iters, least):
    """Weighted Lloyd, weights of either sign; returns the best iterate by signed cost."""
    n, d = P.shape
    k = C.shape[0]
    best = C.copy(); bestcost = np.inf; bestmass = np.zeros(k)
    C = C.copy()
    S = np.zeros((k, d)); M = np.zeros(k)
    for it in range(iters + 1):
        S[:] = 0; M[:] = 0
        cost = 0.0
        for i in range(n):
            b, bj = np.inf, 0
            for j in range(k):
                s = 0.0
                for c in range(d):
                    t = P[i, c] - C[j, c]
                    s += t * t
                    if s > b: break
                if s < b:
                    b, bj = s, j
            cost += w[i] * b
            M[bj] += w[i]
            for c in range(d): S[bj, c] += w[i] * P[i, c]
        if cost < bestcost:
            bestcost = cost; best[:] = C; bestmass[:] = M
        move = 0.0
        for j in range(k):
            if M[j] > least:
                for c in range(d):
                    v = S[j, c] / M[j]
                    v = min(max(v, -1.0), 1.0)
                    move = max(move, abs(v - C[j, c])); C[j, c] = v
        if move < 1e-4: break
    return best, bestmass, bestcost

@njit(cache=True, fastmath=True)
def plusplus(P, w, k, u, tries):
    """Greedy k-means++ on non-negative weights."""
    n, d = P.shape
    dist = np.full(n, np.inf)
    C = np.empty((k, d))
    new = np.empty(n); keep = np.empty(n)
    q = 0
    for j in range(k):
        tot = 0.0
        for i in range(n): tot += w[i] * (dist[i] if j > 0 else 1.0)
        bestc, besti = np.inf, 0
        for t in range(tries if j > 0 else 1):
            x = u[q] * tot; q += 1
            s = 0.0; pick = n - 1
            for i in range(n):
                s += w[i] * (dist[i] if j > 0 else 1.0)
                if s > x:
                    pick = i; break
            c = 0.0
            for i in range(n):
                v = 0.0
                for a in range(d):
                    z = P[i, a] - P[pick, a]
                    v += z * z
                new[i] = min(v, dist[i])
                c += w[i] * new[i]
            if c < bestc:
                bestc, besti = c, pick; keep[:] = new
        C[j] = P[besti]; dist[:] = keep
    return C

def wkmeans(P, w, k, rng, starts=6, swaps=None, least=1e-9):
    """Greedy k-means++ starts, Lloyd, then single swaps. Returns centres, masses, signed cost."""
    P = np.ascontiguousarray(P); w = np.ascontiguousarray(w)
    pos = np.maximum(w, 0)
    if not pos.any():
        return rng.uniform(-1, 1, (k, P.shape[1])), np.zeros(k), 0.0
    best = None
    for _ in range(starts):
        C = plusplus(P, pos, k, rng.random(4 * k + 4), 3)
        r = lloyd(P, w, C, 30, least)
        if best is None or r[2] < best[2]: best = r
    fails = 0
    swaps = max(20, 3 * k) if swaps is None else swaps
    for _ in range(swaps if k > 1 else 0):
        _, d2 = nearest(P, best[0])
        cs = np.cumsum(pos * d2)
        if not cs[-1] > 0: break
        pick = min(int(np.searchsorted(cs, rng.random() * cs[-1])), len(P) - 1)
        C = best[0].copy(); C[rng.integers(k)] = P[pick]
        r = lloyd(P, w, C, 8, least)
        if r[2] < best[2]: best = lloyd(P, w, r[0], 30, least)
    return best

def laplace(rng, scale, shape):
    return rng.laplace(0, 1, shape) * scale

def knorm(rng, eps, k, d, body):
    """Noise of k (sum, count) pairs, offsets in radii: box (L-inf) or cylinder."""
    if body == "box":
        g = rng.gamma(d + 2, 1 / eps, (k, 1))
        z = g * rng.uniform(-1, 1, (k, d + 1))
        return z[:, :d], z[:, d]
    g = rng.gamma(d + 2, 1 / eps, (k, 1))
    u = rng.normal(size=(k, d)); u /= np.linalg.norm(u, axis=1, keepdims=True)
    return g * u * rng.random((k, 1)) ** (1 / d), (g[:, 0] * rng.uniform(-1, 1, k))

def sum_sd(d, body):  # of a coordinate of a sum in radii, at epsilon 1
    return math.sqrt((d + 2) * (d + 3) / 3) if body == "box" else math.sqrt(d + 3)

def count_sd(d):
    return math.sqrt((d + 2) * (d + 3) / 3)
