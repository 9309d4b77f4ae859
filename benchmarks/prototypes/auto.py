"""The plan for up to three columns: look, decide by what it shows, then look again or follow the rows."""
import sys, time, json, os
from t4 import *
from look import again
FEW, PLENTY, SURE = 60.0, 1500.0, 40.0   # rows x epsilon for a group: look only / two rounds / smallest group that a round may follow
def fit(Y, k, eps, p, rng):
    d = Y.shape[1]; lo, hi = -np.ones(d), np.ones(d)
    n0 = max(len(Y) + laplace(rng, 1 / (0.04 * eps), ()), 1.0)  # stands for the look's own 4 % release of N, which the real one reads
    per = n0 * eps / k
    if per < FEW:
        _, _, b = look(Y, eps, rng, p, lo, hi, k); q = b.keep
        return wkmeans(b.mid[q], b.z[q], k, rng)[0], "look"
    share = 0.4 if per > PLENTY else 0.6 if per > 600 else 0.75
    _, _, b = look(Y, share * eps, rng, p, lo, hi, k); q = b.keep
    C, m, _ = wkmeans(b.mid[q], b.z[q], k, rng)
    small = np.sort(m)[: max(1, k // 8)].mean() * share * eps
    if small < SURE:
        b = again(Y, b, (1 - share) * eps, rng, p); q = b.keep
        return wkmeans(b.mid[q], b.z[q], k, rng)[0], "again"
    rest = (1 - share) * eps
    if per > PLENTY:
        C = wkmeans(b.mid[q], b.z[q], min(2 * k, int(q.sum())), rng, starts=3)[0]
        b, *_ = fuse_round(Y, b, C, rest / 3, rng)
        C = wkmeans(b.mid[q], b.z[q], k, rng)[0]
        rest *= 2 / 3
    C, *_ = follow(Y, C, spreads_of(b, C, q), max(b.total, 1), rest, rng, prior=look_counts(b, C))
    return C, "round"
def runa(name, eps, f=1, seeds=4, p=P()):
    X, k, base = tables.load(name)
    lo, hi = tables.loose(name, f, X.shape[1])
    Y = (X - (lo + hi) / 2) / ((hi - lo) / 2)
    out, tag = [], []
    t = time.process_time()
    for s in range(seeds):
        C, w = fit(Y, k, eps, p, np.random.default_rng(7000 + s)); out.append(nicv(Y, C) * f * f / base); tag.append(w[0])
    return float(np.mean(out)), float(np.median(out)), "".join(tag), (time.process_time() - t) / seeds
if __name__ == "__main__":
    names = [n for n in tables.NAMES if tables.load(n)[0].shape[1] <= 3 and n != "birch"] if sys.argv[1] == "all" else sys.argv[1].split(",")
    es, fs = eval(sys.argv[2]), eval(sys.argv[3])
    for n in names:
        line = f"{n:10s}{'H' if tables.held(n) else ' '}"
        for f in fs:
            for e in es:
                m, md, tag, sec = runa(n, e, f)
                line += f" | {m:6.3f} {md:5.2f} {tag} {sec:4.1f}"
                open("auto.jsonl", "a").write(json.dumps(dict(table=n, f=f, epsilon=e, ratio=m, median=md, tag=tag, cpu=sec)) + "\n")
        print(line, flush=True)
