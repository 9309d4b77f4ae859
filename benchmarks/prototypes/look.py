"""The look: a binary tree of midpoint cuts whose budget is decided path by path; least squares; cells believed by evidence.

Gate question: `parts` = a histogram over disjoint cells, every part with a share of its own, charged along paths.
Everything else here is public arithmetic on released counts."""
from __future__ import annotations
import math
from dataclasses import dataclass, field
import numpy as np
from numba import njit
from lib import laplace

@dataclass
class P:  # constants of the look
    rows: float = 0.04       # share of the number of rows
    probe: float = 24.0      # rows x epsilon of a division: noise of a part's count is sqrt(2)/24 of the node's rows
    least: float = 0.02      # and at least this part of what is left on the path
    worth: float = 0.12      # divided where that is at most this part of what is left on the path
    most: float = 0.35       # ... and where much is at stake, at most this part
    dear: float = 2.0        # ... much: more than so many groups have
    least_probe: float = 10.0 # rows x epsilon that a division has at least
    parts: int = 4           # levels of a division (2^4 parts)
    verify: float = 0.3      # part of the path that a node which may hide rows is counted anew for, in 4 parts
    sure: float = 3.0        # sds that a node's count stands out by
    stake: float = 1 / 16    # a node is divided where its rows x width^2 are more than this part of what a group has
    hidden: float = 1 / 64   # a node that may hide rows is counted anew where they would have more than this part
    cover: float = 0.8       # part of the rows whose nodes say how much is at stake
    grain: float = 1.2       # rows x epsilon of a leaf's cell, (n r / grain)^(2d/(2+d)) cells
    fine: float = 96.0       # cells for a group: a leaf has at most fine x k x its share of the rows
    most_levels: int = 13    # of a leaf's cells
    depth: int = 60          # public depth cap
    optimism: float = 1.0    # sds added to a part's count when its grain is chosen
    false: float = 0.05      # false alarms far from the rows, expected over the whole look
    near_false: float = 1.5  # evidence near them, in universal thresholds: ln(cells) for a cell, sqrt(2 ln cells) sds for a bell
    mass: float = 0.7        # part of the rows that believed cells have at least
    near: float = 1.0        # how near, in standard deviations of what is sure
    enough: float = 0.2      # part of the rows that has to be sure for that; else all cells are near
    bells: tuple = (0.6, 1.2, 2.4)

@dataclass
class Node:
    level: int; lo: np.ndarray; hi: np.ndarray; rows: np.ndarray
    n: float; sd: float; r: float
    z: float = 0.0; v: float = np.inf      # own released count and its variance
    kids: list = field(default_factory=list)
    cells: np.ndarray | None = None; cell_var: float = 0.0; leaf_levels: int = 0
    est: float = 0.0; est_var: float = 0.0; verified: bool = False
    @property
    def up(self): return max(self.n + self.sd, 1.0)
    @property
    def width2(self): return float(((self.hi - self.lo) ** 2).sum()) / 12

def sequence(widths, levels):
    """Axis that each level halves: always the widest side, the first of equals; public."""
    w = np.array(widths, float); seq = np.empty(levels, int)
    for i in range(levels):
        a = int(np.argmax(w)); seq[i] = a; w[a] /= 2
    return seq

def cells_of(X, rows, lo, hi, axes):
    d = X.shape[1]
    halv = np.bincount(axes, minlength=d) if len(axes) else np.zeros(d, int)
    code = np.zeros(len(rows), np.int64)
    q = {a: np.clip(((X[rows, a] - lo[a]) / (hi[a] - lo[a]) * 2.0 ** halv[a]).astype(np.int64), 0, 2 ** int(halv[a]) - 1) for a in range(d) if halv[a]}
    left = halv.copy()
    for a in axes:
        left[a] -= 1
        code = code * 2 + ((q[a] >> left[a]) & 1)
    return code

def corners(lo, hi, axes):
    L = np.array([lo]); H = np.array([hi])
    for a in axes:
        mid = (L[:, a] + H[:, a]) / 2
        L2 = np.repeat(L, 2, axis=0); H2 = np.repeat(H, 2, axis=0)
        H2[0::2, a] = mid; L2[1::2, a] = mid
        L, H = L2, H2
    return L, H

def divide(X, node, e, L, seq, rng):
    """Count 2^L parts of a node with noise of scale 1/e; beliefs: consistent with the node, shrunk towards even."""
    axes = seq[node.level:node.level + L]
    m = 2 ** L
    code = cells_of(X, node.rows, node.lo, node.hi, axes)
    cnt = np.bincount(code, minlength=m)
    v = 2 / e**2
    z = cnt + laplace(rng, 1 / e, m)
    order = np.argsort(code, kind="stable"); ends = np.cumsum(cnt)
    clo, chi = corners(node.lo, node.hi, axes)
    # the node's own count, where it is better than the parts' sum
    est = z + (node.n - z.sum()) * v / (v * m + node.sd**2)
    even = max(est.sum(), 0) / m
    s2 = ((est - even) ** 2).sum()
    shrink = max(0.0, 1 - (m - 3) * v / max(s2, 1e-9)) if m > 4 else 1.0
    belief = even + shrink * (est - even)
    for j in range(m):
        kid = Node(node.level + L, clo[j], chi[j], node.rows[order[(ends[j - 1] if j else 0):ends[j]]], max(belief[j], 0.0), math.sqrt(v), node.r - e)
        kid.z, kid.v, kid.sdb = z[j], v, math.sqrt(v * shrink)
        node.kids.append(kid)
    return node.kids

def leaf_levels(node, d, p, k, N):
    n = max(node.n, node.sd) if node.level else node.n
    cells = min(max(n * node.r / p.grain, 1.0) ** (2 * d / (2 + d)), max(p.fine * k * n / N, 4.0))
    return int(min(max(round(math.log2(cells)), 0), p.most_levels))

def grow(X, eps, n_hat, n_sd, rng, p: P, lo, hi, k):
    d = X.shape[1]
    seq = sequence(hi - lo, p.depth + 30)
    root = Node(0, lo, hi, np.arange(len(X)), max(n_hat, 1.0), n_sd, eps)
    root.z, root.v = n_hat, n_sd**2
    frontier, leaves, moved = [root], [], True
    while moved:  # a node that is not divided waits: as others are, less is at stake for a group, and it may be its turn
        moved = False
        # what a group has: variance of all that is believed, over k^(2/d)
        live = frontier + leaves
        # by belief, largest first, until most rows are found: the others may be noise
        n = np.array([x.n for x in live])
        rank = np.argsort(-n, kind="stable")
        before = np.cumsum(n[rank]) - n[rank]
        n[rank[before >= p.cover * root.n]] = 0.0
        mid = np.array([(x.lo + x.hi) / 2 for x in live])
        N = max(n.sum(), 1.0)
        mean = n @ mid / N
        V = float(n @ (((mid - mean) ** 2).sum(1) + np.array([x.width2 for x in live])))
        group = V / k ** (2 / d)
        nxt = []
        for x in frontier:
            if x.level >= p.depth or x.r <= 0:
                nxt.append(x); continue
            at_stake = x.up * x.width2
            sure = x.n > p.sure * x.sd or x is root
            e = max(p.probe / max(x.n, 1.0), p.least * x.r)
            if sure and at_stake > p.dear * group and x.n * p.most * x.r >= p.least_probe:
                e = min(e, p.most * x.r)
                nxt += divide(X, x, e, p.parts, seq, rng); moved = True
            elif sure and at_stake > p.stake * group and e <= p.worth * x.r:
                nxt += divide(X, x, e, p.parts, seq, rng); moved = True
            elif not sure and not x.verified and at_stake / 2 ** (leaf_levels(x, d, p, k, root.n) * 2 / d) > p.hidden * group:
                for kid in divide(X, x, p.verify * x.r, 2, seq, rng):
                    kid.verified = True; nxt.append(kid); moved = True
            else:
                nxt.append(x)
        frontier = nxt
    leaves = frontier
    N = max(n_hat, 1.0)
    for x in leaves:
        L = leaf_levels(x, d, p, k, N)
        code = cells_of(X, x.rows, x.lo, x.hi, seq[x.level:x.level + L])
        x.cells = np.bincount(code, minlength=2 ** L) + laplace(rng, 1 / x.r, 2 ** L)
        x.cell_var, x.leaf_levels = 2 / x.r**2, L
    return root, leaves, seq

def least_squares(nd: Node):
    """Bottom-up: own count and the parts' sum weighted by variance; top-down: the residual shared by variance."""
    def up(nd):
        if nd.cells is not None:
            zc, vc = nd.cells.sum(), len(nd.cells) * nd.cell_var
        else:
            for k in nd.kids: up(k)
            zc = sum(k.est for k in nd.kids); vc = sum(k.est_var for k in nd.kids)
        w = vc / (vc + nd.v) if np.isfinite(nd.v) else 0.0
        nd.est, nd.est_var, nd._zc, nd._vc = (1 - w) * zc + w * nd.z, (1 - w) * vc, zc, vc
    def down(nd):
        res = nd.est - nd._zc
        if nd.cells is not None:
            nd.cells = nd.cells + res / len(nd.cells)
        else:
            for k in nd.kids:
                k.est += res * k.est_var / nd._vc
                down(k)
    up(nd); down(nd)

def chernoff(blocks, log_rate):
    """Sum of B standard Laplace variables (scale 1) that is exceeded with probability at most exp(-log_rate)."""
    th = np.linspace(0.02, 0.995, 300)
    return np.min((-np.asarray(blocks)[:, None] * np.log1p(-th**2) + log_rate) / th, axis=1)

@njit(cache=True, fastmath=True)
def smooth(mid, width, z, v, lev, span, bell, num, sd, beff):
    """Bell-shaped sums around every cell, widths in its own cell: value, its noise, effective number of cells."""
    n, d = mid.shape
    for i in range(n):
        a = 0.0; b = 0.0; c = 0.0
        far = 3 * bell * width[i, 0]
        first = np.searchsorted(mid[:, 0], mid[i, 0] - far); last = np.searchsorted(mid[:, 0], mid[i, 0] + far)
        for j in range(first, last):
            if abs(lev[i] - lev[j]) > span: continue  # cells of other sizes are no evidence
            t = 0.0
            for q in range(d):
                u = (mid[i, q] - mid[j, q]) / width[i, q]
                t += u * u
                if t > 9 * bell * bell: break
            if t <= 9 * bell * bell:
                w = math.exp(-0.5 * t / (bell * bell))
                a += w * z[j]; b += w * w * v[j]; c += (w * w * v[j]) ** 2
        num[i] = a; sd[i] = math.sqrt(b); beff[i] = b * b / c if c > 0 else 1.0

@dataclass
class Cells:
    """All released cells and which of them are believed."""
    mid: np.ndarray; width: np.ndarray; z: np.ndarray; v: np.ndarray; keep: np.ndarray; sure: np.ndarray; total: float; total_sd: float

def believe(root, leaves, seq, p: P):
    c = np.concatenate
    boxes = [corners(x.lo, x.hi, seq[x.level:x.level + x.leaf_levels]) for x in leaves]
    lo, hi = c([b[0] for b in boxes]), c([b[1] for b in boxes])
    z = c([x.cells for x in leaves]); v = c([np.full(len(x.cells), x.cell_var) for x in leaves])
    M = len(z)
    lev = c([np.full(len(x.cells), x.level + x.leaf_levels) for x in leaves])
    order = np.argsort(lo[:, 0] + hi[:, 0], kind="stable")  # so that bells look at a slab only
    lo, hi, z, v, lev = lo[order], hi[order], z[order], v[order], lev[order]
    mid, width = (lo + hi) / 2, hi - lo
    lv = math.log(max(M, 2))
    bells = (0.0, *p.bells)
    num, sd, be = np.empty(M), np.empty(M), np.empty(M)
    def evidence(limit, among):
        """From fine to coarse: a bell looks only at cells that finer ones have not explained, or heavy cells would lend to empty ones."""
        ok = np.zeros(M, bool)
        for bell in bells:
            if bell == 0.0:
                ok |= among & (z > limit(np.ones(M)) * np.sqrt(v))
            else:
                rest = ~ok & among
                smooth(mid, width, np.where(rest, z, 0.0), np.where(rest, v, 0.0), lev, mid.shape[1] - 1, bell, num, sd, be)
                ok |= rest & (num > limit(be) * sd) & (sd > 0)
        return ok
    def strict(rate):
        lr = math.log(M * len(bells) / rate)
        grid = np.geomspace(1, 4096, 60)
        lim = chernoff(grid, lr) / np.sqrt(2 * grid)
        return lambda b: np.interp(b, grid, lim)
    def usual(c):
        return lambda b: np.where(b <= 1, c * lv / math.sqrt(2), math.sqrt(2 * c * lv))
    everywhere = np.ones(M, bool)
    sure = evidence(strict(p.false), everywhere)
    # far cells have to be sure; near ones, in spreads of what is sure, count by less
    near = everywhere
    if z[sure].sum() >= p.enough * root.est:
        from scipy.spatial import cKDTree
        w = np.maximum(z[sure], 0)
        mean = w @ mid[sure] / w.sum()
        spread = math.sqrt(float(w @ ((mid[sure] - mean) ** 2).sum(1)) / w.sum())
        near = cKDTree(mid[sure]).query(mid)[0] <= p.near * spread
    lv = math.log(max(near.sum(), 2))
    keep = sure
    # where most rows would be left out, less evidence has to do
    for c in (p.near_false, 1.0, 0.5, 0.25, 0.0):
        keep = sure | (evidence(usual(c), near) if c else near)
        if z[keep].sum() >= p.mass * root.est: break
    return Cells(mid, width, z, v, keep, sure, root.est, math.sqrt(root.est_var))

def look(X, eps, rng, p: P, lo, hi, k):
    e_n = p.rows * eps
    n_hat = float(len(X) + laplace(rng, 1 / e_n, ()))
    root, leaves, seq = grow(X, eps - e_n, n_hat, math.sqrt(2) / e_n, rng, p, lo, hi, k)
    raw = [x.cells.copy() for x in leaves]
    least_squares(root)
    cells = believe(root, leaves, seq, p)
    cells.state = (root, leaves, seq, raw)
    return root, leaves, cells

def again(X, cells, eps, rng, p: P):
    """Count the same leaf cells a second time (an ordinary histogram), weigh both by variance, believe anew."""
    root, leaves, seq, raw = cells.state
    for x, r in zip(leaves, raw):
        code = cells_of(X, x.rows, x.lo, x.hi, seq[x.level:x.level + x.leaf_levels])
        z2 = np.bincount(code, minlength=len(r)) + laplace(rng, 1 / eps, len(r)); v2 = 2 / eps**2
        w = x.cell_var / (x.cell_var + v2)
        x.cells, x.cell_var = (1 - w) * r + w * z2, x.cell_var * v2 / (x.cell_var + v2)
    least_squares(root)
    return believe(root, leaves, seq, p)
