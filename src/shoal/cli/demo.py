"""`shoal demo`: the main job on a table it makes itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.records import record
from shoal.reporting.console import command, say, write_json

# Kilometres east and north, and the share of the visitors.
QUARTERS = [[2.0, 2.5], [7.5, 2.0], [5.0, 5.2], [2.2, 8.0], [8.0, 7.6]]
SHARES = [0.3, 0.2, 0.25, 0.1, 0.15]
# How many more times it is fitted for the picture: the table is nobody's, so that costs nothing.
_REFITS = 20
_CENTRE, _OTHER = "#12355b", "#c8452c"


@command()
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="Privacy loss allowed.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out"),
    show_default=True,
    help="Where the picture goes.",
)
def demo(epsilon: float, out: Path, as_json: bool) -> None:
    """Cluster a made-up table of 20,000 visitors to a town, privately, and draw the result."""
    from shoal.cli.show import print_release

    X = visitors()
    model = find(X, epsilon)
    if as_json:
        write_json(record(model.release_))
        _draw(X, model, out)
        return
    click.echo(
        f"Five groups of a made-up table, released with epsilon = {epsilon:g}; columns in kilometres\n"
    )
    print_release(model.release_)
    click.echo("\nCertificate\n")
    click.echo(str(model.certificate_))
    _draw(X, model, out)


def find(X: Any, epsilon: float, seed: int | None = None) -> Any:
    """Find the five quarters of the town, privately."""
    from shoal import KMeans

    bounds = {"east": (0, 10), "north": (0, 10)}
    return KMeans(n_clusters=5, epsilon=epsilon, bounds=bounds, random_state=seed).fit(X)


def visitors(seed: int = 2024) -> Any:
    """Make up where 20,000 visitors spend their day: five quarters of a town.

    Examples
    --------
    >>> visitors().shape
    (20000, 2)
    """
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    quarters = np.array(QUARTERS)
    spread = np.array([0.7, 0.5, 0.4, 0.8, 0.6])
    home = rng.choice(5, 20_000, p=SHARES)
    where = quarters[home] + rng.normal(0, 1, (20_000, 2)) * spread[home, np.newaxis]
    return pa.table({"east": where[:, 0], "north": where[:, 1]})


def _draw(X: Any, model: Any, out: Path) -> None:
    try:
        import matplotlib as mpl
    except ImportError:
        say("\nNo picture: install the extra 'plot' (pip install 'shoal[plot]').")
        return
    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    where = np.column_stack([X["east"], X["north"]])[::4]
    centres, sizes, noise = model.cluster_centers_, model.cluster_sizes_, model.release_.size_sd
    again = np.concatenate([find(X, model.epsilon).cluster_centers_ for _ in range(_REFITS)])
    figure, axes = plt.subplots(figsize=(7, 7.2), layout="constrained")
    axes.scatter(*where.T, s=4, c="#9aa5b1", alpha=0.35, linewidths=0, label="made-up rows")
    # The area of a circle is its share of the rows.
    areas = 2400 * sizes / max(sizes.sum(), 1.0)
    axes.scatter(*centres.T, s=areas, c="#2a78d6", alpha=0.35, linewidths=0, zorder=3)
    axes.scatter(*centres.T, s=26, c=_CENTRE, linewidths=0, zorder=5, label="released centre (area: size)")
    axes.scatter(
        *again.T,
        s=34,
        c=_OTHER,
        marker="x",
        linewidths=0.9,
        zorder=4,
        label=f"centres of {_REFITS} other fits",
    )
    for point, size, area in zip(centres, sizes, areas, strict=True):
        axes.annotate(
            f"{size:,.0f} ± {noise:.0f}",
            point,
            xytext=(0, np.sqrt(area / np.pi) + 7),
            textcoords="offset points",
            ha="center",
            weight="bold",
            bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.75},
            zorder=6,
        )
    axes.plot([8.6, 9.6], [0.35, 0.35], color=_CENTRE, linewidth=3, solid_capstyle="butt")
    axes.annotate("1 km", (9.1, 0.45), ha="center", va="bottom")
    _magnify(axes, centres[sizes.argmin()], again)
    axes.set(xlim=(0, 10), ylim=(0, 10), xlabel="km east", ylabel="km north", aspect="equal")
    axes.set_title(
        f"Five groups of 20,000 rows, released with epsilon = {model.epsilon:g}\n"
        "± is the noise of the last answer, for this grouping",
        loc="left",
        fontsize=11,
    )
    legend = figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9, markerscale=1.5)
    for handle in legend.legend_handles:
        handle.set_alpha(1.0)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "demo.png", dpi=120)
    plt.close(figure)
    say(f"\nPicture: {out / 'demo.png'}")


def _magnify(axes: Any, centre: Any, again: Any) -> None:
    """Draw how far other fits put the centre of the smallest group, which noise moves most, in metres."""
    import numpy as np

    metres = 1000 * (again[np.linalg.norm(again - centre, axis=1) < 1] - centre)
    reach = max(10.0, 1.3 * float(np.abs(metres).max(initial=0.0)))
    inset = axes.inset_axes((0.40, 0.74, 0.24, 0.24))
    inset.scatter(*metres.T, s=34, c=_OTHER, marker="x", linewidths=0.9)
    inset.scatter(0, 0, s=26, c=_CENTRE, linewidths=0, zorder=3)
    inset.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="metres")
    inset.tick_params(labelsize=8)
    inset.xaxis.label.set_size(8)
    half = reach / 1000
    axes.indicate_inset((centre[0] - half, centre[1] - half, 2 * half, 2 * half), inset, edgecolor=_CENTRE)
