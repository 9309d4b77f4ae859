"""Cluster a made-up table of visitors privately, print what may be published and draw it."""

from pathlib import Path

import numpy as np

from shoal import DPLloyd

OUT = Path("out")


def visitors(seed: int = 2024) -> np.ndarray:
    """Where 20,000 made-up visitors spend their day: five quarters of a town, in kilometres."""
    rng = np.random.default_rng(seed)
    quarters = np.array([[2.0, 2.5], [7.5, 2.0], [5.0, 5.2], [2.2, 8.0], [8.0, 7.6]])
    spread = np.array([0.7, 0.5, 0.4, 0.8, 0.6])
    home = rng.choice(5, 20_000, p=[0.3, 0.2, 0.25, 0.1, 0.15])
    return quarters[home] + rng.normal(0, 1, (20_000, 2)) * spread[home, None]


def main() -> None:
    X = visitors()
    model = DPLloyd(n_clusters=5, epsilon=1.0, bounds=(0, 10)).fit(X)

    print("Five groups of a made-up table, released with epsilon = 1\n")
    print("     x (km)   y (km)    size   (standard errors from the noise alone)")
    release = model.release_
    for centre, size, sd in zip(model.cluster_centers_, model.cluster_sizes_, release.centre_sd, strict=True):
        print(
            f"    {centre[0]:7.3f}  {centre[1]:7.3f}  {size:6.0f}   ± {sd[0]:.3f}, {sd[1]:.3f}, {release.size_sd:.0f}"
        )
    print("\nCertificate\n")
    print(model.certificate_)
    draw(X, model)


def draw(X: np.ndarray, model: DPLloyd) -> None:
    try:
        import matplotlib as mpl
    except ImportError:
        print("\nNo picture: install the extra 'plot' (pip install 'shoal[plot]').")
        return
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 6.4), layout="constrained")
    axes.scatter(*X[::4].T, s=3, c=model.predict(X[::4]), cmap="Set2", alpha=0.5, linewidths=0)
    sizes = 30 + 900 * model.cluster_sizes_ / model.cluster_sizes_.sum()
    axes.scatter(
        *model.cluster_centers_.T, s=sizes, c="#12355b", edgecolors="white", linewidths=1.5, zorder=3
    )
    for (x, y), size in zip(model.cluster_centers_, model.cluster_sizes_, strict=True):
        axes.annotate(
            f"{size:,.0f}", (x, y), xytext=(0, 16), textcoords="offset points", ha="center", weight="bold"
        )
    axes.set(xlim=(0, 10), ylim=(0, 10), xlabel="km east", ylabel="km north", aspect="equal")
    axes.set_title(
        "Private centres and sizes (blue), epsilon = 1\nThe coloured rows are made up; a release holds none"
    )
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "demo.png", dpi=120)
    print(f"\nPicture: {OUT / 'demo.png'}")


if __name__ == "__main__":
    main()
