"""Total errors: from the transcript alone, the same for everybody, and never below the noise."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from shoal import DPLloyd, GridKMeans, KMeans, TreeKMeans, compare, load, verify
from shoal.accounting import Pure
from shoal.cli import main
from shoal.domain import Bounds, Domain
from shoal.errors import InvalidInput
from shoal.postprocess.shown import Shown
from shoal.queries import MadeUpCurator, MadeUpTable, Voronoi
from shoal.queries.gate.made_up import MOST_ROWS
from shoal.release.totals import total_intervals

BOUNDS = {"longitude": (0.0, 10.0), "latitude": (0.0, 10.0)}


def town(seed=0, n=3000, places=((2, 2), (8, 3), (5, 8))):
    import pandas as pd

    rng = np.random.default_rng(seed)
    rows = np.array(places, float)[rng.integers(len(places), size=n)] + rng.normal(0, 0.5, (n, 2))
    return pd.DataFrame(rows, columns=list(BOUNDS))


@pytest.fixture(scope="module")
def release():
    return KMeans(3, epsilon=1.0, bounds=BOUNDS, random_state=1).fit(town()).release_


@pytest.fixture(scope="module")
def torn():
    """Four groups asked for where there are three: one of two is cut in two, each time another."""
    heavy = ((2, 2), (2, 2), (8, 3), (8, 3), (5, 8))  # one of the first two is cut, never the last
    return KMeans(4, epsilon=1.0, bounds=BOUNDS, random_state=3).fit(town(places=heavy)).release_


def test_the_files_alone_give_the_same_totals(release, tmp_path):
    release.save(tmp_path / "r")
    ours, again = release.intervals(total=True), load(tmp_path / "r").intervals(total=True)
    for name in ("centre_low", "centre_high", "size_low", "size_high", "centre_sd", "size_sd", "changed"):
        assert np.array_equal(getattr(ours, name), getattr(again, name))
    assert ours.known
    assert ours.stable.all()


def test_totals_are_never_narrower_than_the_noise_and_nothing_else_changes(release):
    noise, total = release.intervals(), release.intervals(total=True)
    assert noise is release.intervals
    assert (total.centre_low <= noise.centre_low).all()
    assert (total.centre_high >= noise.centre_high).all()
    assert (total.size_low <= noise.size_low).all()
    assert (total.centre_sd >= release.centre_sd).all()


@pytest.mark.parametrize("kind", [GridKMeans, TreeKMeans])
def test_other_algorithms_that_look_have_totals_too(kind):
    total = kind(3, epsilon=1.0, bounds=BOUNDS, random_state=0).fit(town()).release_.intervals(total=True)
    assert total.known
    assert np.isfinite(total.centre_sd).all()


def test_without_a_look_totals_are_not_known(tmp_path):
    release = DPLloyd(3, epsilon=1.0, bounds=BOUNDS, random_state=0).fit(town()).release_
    total = release.intervals(total=True)
    assert not total.known
    assert not total.stable.any()
    assert np.isinf(total.centre_high).all()
    assert "not known" in total.describe()
    assert release.told(total=True) == release.told()
    release.with_totals().save(tmp_path / "r")
    assert verify(tmp_path / "r").ok


def test_a_group_that_is_cut_in_two_is_not_stable(torn):
    total = torn.intervals(total=True)
    assert 0 < total.stable.sum() < 4
    header, lines = torn.told(total=True)
    said = dict(zip(range(4), (line[-1] for line in lines), strict=True))
    assert header[-1] == "stable"
    assert all(said[i] == "yes" for i in np.flatnonzero(total.stable))
    assert all(said[i].startswith("no (") for i in np.flatnonzero(~total.stable))


def test_saved_totals_are_in_every_file_and_verify_computes_them_again(release, tmp_path):
    release.with_totals().save(tmp_path / "r")
    assert verify(tmp_path / "r").ok
    again, total = load(tmp_path / "r"), release.intervals(total=True)
    assert np.array_equal(again.totals.centre_low, total.centre_low)
    head = (tmp_path / "r" / "centres.csv").read_text().splitlines()[0]
    assert "longitude_total_low" in head
    assert head.endswith("stable,changed")
    point = json.loads((tmp_path / "r" / "centres.geojson").read_text())
    assert point["features"][0]["properties"]["size_total_high"] == total.size_high[0]
    assert "made up from the released look" in point["note"]
    assert "made up from the released look" in (tmp_path / "r" / "certificate.txt").read_text()
    forged = replace(again, totals=replace(again.totals, centre_sd=again.totals.centre_sd * 1.1))
    forged.save(tmp_path / "forged")
    assert verify(tmp_path / "forged").failed == ("totals",)


def test_private_bounds_and_clipped_cells_have_had_their_share():
    model = KMeans(3, epsilon=4.0, count_clipped=True, random_state=0).fit(town())
    assert model.release_.intervals(total=True).known


def test_a_comparison_goes_by_totals_and_leaves_out_what_is_not_stable(release, torn):
    other = KMeans(3, epsilon=1.0, bounds=BOUNDS, random_state=2).fit(town()).release_
    assert not compare(release, other).changed
    fates = [change.fate for change in compare(torn, torn).changes]
    assert fates.count("not stable") == (~torn.intervals(total=True).stable).sum()
    assert "not stable" not in {change.fate for change in compare(torn, torn, total=False).changes}


def test_the_command_line_states_totals(release, tmp_path):
    release.save(tmp_path / "r")
    total = release.intervals(total=True)
    result = CliRunner().invoke(main, ["show", str(tmp_path / "r"), "--total", "--json"])
    shown = json.loads(result.stdout)
    assert shown["totals"]["known"]
    assert shown["groups"][1]["centre_total_low"]["latitude"] == total.centre_low[1, 1]
    assert shown["groups"][1]["stable"] is True
    assert "made up" in shown["certificate"]["errors"]
    text = CliRunner().invoke(main, ["show", str(tmp_path / "r"), "--total"]).output
    assert "total error" in text
    drawn = CliRunner().invoke(
        main, ["plot", str(tmp_path / "r"), "--total", "--out", str(tmp_path / "r.png")]
    )
    assert drawn.exit_code == 0, drawn.output


def test_a_fit_with_totals_writes_them(tmp_path):
    town().to_csv(tmp_path / "t.csv", index=False)
    given = ["fit", str(tmp_path / "t.csv"), "--columns", "longitude,latitude", "--bounds", "longitude=0:10"]
    given += ["--bounds", "latitude=0:10"]
    given += ["--k", "3", "--epsilon", "1", "--total", "--out", str(tmp_path / "r"), "--json"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["totals"]["known"]
    assert load(tmp_path / "r").totals is not None
    refused = CliRunner().invoke(main, [*given[:-2], str(tmp_path / "s"), "--synopsis"])
    assert refused.exit_code == 2
    assert "no groups" in refused.output


def test_rows_of_a_large_made_up_table_stand_for_many():
    domain = Domain(Bounds.parse((0, 1), 1))
    shown = Shown(np.array([[-0.5], [0.5]]), np.array([3.0, 1.0]), np.full((2, 1), 1e-4), rows=1e6)
    table = MadeUpTable(shown, domain, seed=0)
    assert len(table.points) <= MOST_ROWS

    curator = MadeUpCurator(table, Pure(Fraction(1)), seed=1)
    counts = curator.sums(Voronoi(np.array([[-0.5], [0.5]])), share=Fraction(1)).counts
    assert counts == pytest.approx([750_000, 250_000], rel=1e-3)
    with pytest.raises(InvalidInput, match="within the bounds"):
        curator.within(Bounds.parse((0, 2), 1), Fraction(1))


@pytest.mark.slow
def test_totals_cover_the_middle_of_other_fits():
    held = of = 0
    fits = [KMeans(3, epsilon=0.3, bounds=BOUNDS, random_state=s).fit(town()).release_ for s in range(30)]
    order = [np.argsort(fit.centres[:, 0]) for fit in fits]
    middle = np.median([fit.centres[o] for fit, o in zip(fits, order, strict=True)], axis=0)
    for fit, o in zip(fits[:20], order, strict=False):
        total = total_intervals(fit)
        inside = (total.centre_low[o] <= middle) & (middle <= total.centre_high[o])
        held, of = held + int(inside.sum()), of + inside.size
    assert held / of >= 0.88
