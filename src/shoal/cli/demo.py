"""`shoal demo`: the main job on a table it makes itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.console import say, speaks


@click.command()
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="Privacy loss allowed.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out"),
    show_default=True,
    help="Where the picture goes.",
)
@speaks
def demo(epsilon: float, out: Path) -> None:
    """Cluster a made-up table of 20,000 visitors to a town, privately, and draw the result."""
    from shoal import DPLloyd
    from shoal.cli.show import print_release

    X = visitors()
    model = DPLloyd(n_clusters=5, epsilon=epsilon, bounds={"east": (0, 10), "north": (0, 10)}).fit(X)
    click.echo(
        f"Five groups of a made-up table, released with epsilon = {epsilon:g}; columns in kilometres\n"
    )
    print_release(model.release_)
    click.echo("\nCertificate\n")
    click.echo(str(model.certificate_))
    _draw(X, model, out)


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
    quarters = np.array([[2.0, 2.5], [7.5, 2.0], [5.0, 5.2], [2.2, 8.0], [8.0, 7.6]])
    spread = np.array([0.7, 0.5, 0.4, 0.8, 0.6])
    home = rng.choice(5, 20_000, p=[0.3, 0.2, 0.25, 0.1, 0.15])
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

    where, labels = np.column_stack([X["east"], X["north"]])[::4], model.predict(X)[::4]
    centres, sizes = model.cluster_centers_, model.cluster_sizes_
    figure, axes = plt.subplots(figsize=(7, 6.4), layout="constrained")
    axes.scatter(*where.T, s=3, c=labels, cmap="Set2", alpha=0.5, linewidths=0)
    dots = 30 + 900 * sizes / max(sizes.sum(), 1.0)
    axes.scatter(*centres.T, s=dots, c="#12355b", edgecolors="white", linewidths=1.5, zorder=3)
    for point, size in zip(centres, sizes, strict=True):
        axes.annotate(
            f"{size:,.0f}", point, xytext=(0, 16), textcoords="offset points", ha="center", weight="bold"
        )
    axes.set(xlim=(0, 10), ylim=(0, 10), xlabel="km east", ylabel="km north", aspect="equal")
    axes.set_title(
        f"Private centres and sizes (blue), epsilon = {model.epsilon:g}\n"
        "The coloured rows are made up; a release holds none"
    )
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "demo.png", dpi=120)
    plt.close(figure)
    say(f"\nPicture: {out / 'demo.png'}")
