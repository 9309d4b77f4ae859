"""The report: who is best, said honestly; pictures that hold what they should."""

import json
import re
from dataclasses import replace

import pytest

from shoal.bench.chapters import not_run, pictures, table
from shoal.bench.claims import Claim
from shoal.bench.comparisons import better
from shoal.bench.experiment import Data, Sweep
from shoal.bench.experiments import EXPERIMENTS
from shoal.bench.figures import curves
from shoal.bench.ranking import best_table, glance, tally
from shoal.bench.report import build, load
from shoal.bench.results import Results
from shoal.bench.style import look
from shoal.bench.surely import Verdict
from shoal.bench.verdicts import judged, sentence
from shoal.errors import InvalidInput
from shoal.reporting.document import Bullets, Heading, Table, markdown, page


def runs(made_up, method, means, spread=0.1, **facts):
    return [
        made_up(
            method, x=x, run=i, ratio=mean + spread * (i - 2), nicv=mean, seconds=mean, memory=mean, **facts
        )
        for x, mean in means.items()
        for i in range(5)
    ]


def test_the_best_table_says_where_ours_is_not_the_best(made_up):
    peer = {"algorithm": "peer:other"}
    found = best_table(
        Results([
            *runs(made_up, "ours", {0.1: 2.0, 0.5: 2.0, 1.0: 2.0}),
            *runs(made_up, "also ours", {0.1: 3.0, 0.5: 3.0, 1.0: 1.5}),
            *runs(made_up, "theirs", {0.1: 1.0, 0.5: 1.95, 1.0: 9.0}, **peer),
        ])
    )  # fmt: skip
    assert found.head == ("table", "epsilon = 0.1", "epsilon = 0.5", "epsilon = 1")
    [(series, clear, close, win)] = found.rows
    assert series == "s"
    assert clear == "theirs 1.000 ± 0.158, **not ours**: ours 2.000 ± 0.158"
    assert close == "theirs 1.950 ± 0.158, a tie with ours: ours 2.000 ± 0.158"
    assert win == "also ours 1.500 ± 0.158"


def test_the_best_table_says_where_the_default_is_not_the_best(made_up):
    found = Results([
        *runs(made_up, "KMeans", {0.1: 1.0, 0.5: 2.0, 1.0: 2.0, 2.0: 2.0}),
        *runs(made_up, "KMeans", {4.0: 2.0}, spread=0.001),
        *runs(made_up, "also ours", {0.1: 3.0, 0.5: 1.95, 1.0: 1.5, 2.0: 3.0}),
        *runs(made_up, "also ours", {4.0: 1.99}, spread=0.001),
        *runs(made_up, "theirs", {0.1: 9.0, 0.5: 9.0, 1.0: 9.0, 2.0: 1.0}, algorithm="peer:other"),
    ])  # fmt: skip
    [(_, best, tied, behind, _, small)] = best_table(found).rows
    assert best == "KMeans 1.000 ± 0.158"
    assert tied == "also ours 1.950 ± 0.158, a tie with KMeans 2.000 ± 0.158"
    assert behind == "also ours 1.500 ± 0.158, **ahead of** KMeans 2.000 ± 0.158"
    assert small == "also ours 1.990 ± 0.002, less than 1% ahead of KMeans 2.000 ± 0.002"
    assert re.findall(r"\*\*(\d)\*\*", tally(found)) == ["2", "1", "1", "1"]


def test_a_peer_is_judged_at_the_epsilon_it_spends(made_up):
    peer = {"algorithm": "peer:other"}
    found = best_table(
        Results([
            *runs(made_up, "ours", {1.0: 2.0}),
            *runs(made_up, "theirs", {1.0: 1.0}, **peer),
            *runs(made_up, "theirs, true epsilon", {1.0: 3.0}, **peer),
        ])
    )  # fmt: skip
    assert found.rows == (("s", "ours 2.000 ± 0.158"),)


def test_a_method_does_not_gain_by_giving_up_on_hard_tables(made_up):
    found = Results([
        *runs(made_up, "steady", {1.0: 2.0}, series="easy"),
        *runs(made_up, "choosy", {1.0: 3.0}, series="easy"),
        *runs(made_up, "steady", {1.0: 90.0}, series="hard"),
    ])  # fmt: skip
    assert list(glance(found)) == [
        "**epsilon = 1**, mean ratio over the 1 tables all ran on: steady 2.00, choosy 3.00"
    ]


def test_tables_have_mean_spread_and_ratio(tiny, made_up):
    shown = table(
        replace(tiny, metrics=("nicv",)),
        Results(runs(made_up, "a", {1.0: 2.0}) + runs(made_up, "b", {1.0: 3.0})),
    )
    assert shown.head == ("table", "epsilon", "a", "b")
    assert shown.rows == (("s", "1", "**2 ± 0 (2)**", "3 ± 0 (3)"),)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figures", "metrics", "over"),
    [
        (("overview",), ("cost_gap",), "epsilon"),
        (("matrix",), ("ratio",), "epsilon"),
        (("curves",), ("nicv", "seconds"), "n"),
        (("heatmap",), ("excess",), "epsilon"),
        (("predicted",), ("centre_error",), "epsilon"),
    ],
)
def test_every_kind_of_figure_can_be_drawn(tiny, tmp_path, made_up, figures, metrics, over):
    extra = {"polished": 0.5, "predicted": 0.1, "predicted_sizes": 0.2, "centre_error": 0.15}
    records = []
    for method, parameters in (("DPLloyd", {}), ("DPLloyd, Laplace", {"noise": "laplace"})):
        for columns in (2, 3):
            records += runs(made_up, method, {1.0: 2.0, 10.0: 1.0}, series=f"gaussians d={columns}", **extra)
            for record in records[-10:]:
                record.update(columns=columns, table=f"t{columns}", id=f"{method}{columns}{record['id']}")
                record.update(method_parameters=parameters)
    (tmp_path / "tiny.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    data = (Data.of("gaussians", d=2), Data.of("gaussians", d=3))
    drawn = replace(tiny, figures=figures, metrics=metrics, sweep=Sweep(over, (1.0, 10.0)), data=data)
    build(tmp_path, tmp_path / "out", experiments=[drawn])
    pictures = sorted(path.stem for path in (tmp_path / "out" / "figures").iterdir())
    assert len(pictures) == len(figures) * len(metrics) + 2  # and verdicts, and stored figures of peers
    text = (tmp_path / "out" / "report.md").read_text()
    assert sorted(re.findall(r"\(figures/(.+?)\.png\)", text)) == pictures
    if metrics == ("excess",):
        # Redrawn from the same results, it is the same page.
        before = (tmp_path / "out" / "report.html").read_bytes()
        build(tmp_path, tmp_path / "out", experiments=[drawn])
        assert (tmp_path / "out" / "report.html").read_bytes() == before


def test_failed_runs_damage_and_open_claims_are_shown(tiny, tmp_path, made_up):
    records = [*runs(made_up, "DPLloyd", {1.0: 2.0}), made_up("DPLloyd", run=9, error="Boom: it broke")]
    (tmp_path / "tiny.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records) + "garbage")
    open_claim = Claim("the moon is round", ("telescope",), better("telescope", "DPLloyd"))
    complaints = build(
        tmp_path, tmp_path / "out", experiments=[replace(tiny, claims=(open_claim,), metrics=("nicv",))]
    )
    text = (tmp_path / "out" / "report.md").read_text()
    assert "1 runs failed" in text
    assert "Boom: it broke" in text
    assert (
        "| the moon is round | not run |  | no results of telescope |  | `shoal bench run tiny`, 0.1 h |"
        in text
    )
    assert "[All claims](#all-claims)" in text
    assert "## All claims" in text
    assert "tiny.jsonl.damaged" in complaints[0]
    assert complaints[0] in text


def test_no_results_is_an_error_that_says_what_to_do(tiny, tmp_path):
    with pytest.raises(InvalidInput, match=r"no results in .*; run 'shoal bench run"):
        build(tmp_path, tmp_path / "out", experiments=[tiny])


def test_pages_escape_what_they_show():
    text = page(
        [Heading("<T>", 1), Bullets(("a < b", "**bold** `code`")), Table(("<h>",), (("x & y",), ("holds",)))]
    )
    assert "<T>" not in text
    assert "a &lt; b" in text
    assert "<strong>bold</strong> <code>code</code>" in text
    assert '<td class="holds">holds</td>' in text
    assert "| a\\|b |" in markdown([Table(("h",), (("a|b",),))])


def test_a_method_has_one_look_and_no_two_of_a_figure_share_a_colour():
    assert look("DPLloyd") == look("DPLloyd")
    assert look("something new").colour == look("something new").colour
    for experiment in EXPERIMENTS.values():
        if experiment.paper != "ours" and experiment.figures[0] != "heatmap":
            colours = {method.label: look(method.label).colour for method in experiment.methods}
            assert len(set(colours.values())) == len(colours), (experiment.name, colours)


def test_a_run_is_known_by_its_parameters_and_has_the_name_of_today(tiny, tmp_path, made_up):
    first = tiny.methods[0]
    old = made_up("an old name", algorithm=first.algorithm, method_parameters=dict(first.parameters))
    gone = made_up("gone", run=1, algorithm="lloyd", method_parameters={"noise": "none such"})
    (tmp_path / "tiny.jsonl").write_text("".join(json.dumps(r) + "\n" for r in (old, gone)))
    found = load(tmp_path, (tiny,)).results["tiny"]
    assert [record["method"] for record in found] == [first.label]
    elsewhere = replace(tiny, methods=(replace(first, only=("another table",)),))
    assert not len(load(tmp_path, (elsewhere,)).results["tiny"])


def test_what_is_left_to_run_is_told_with_its_hours(tiny, made_up):
    whole = replace(tiny, hours=2.0, methods=tiny.methods[:2])
    wanted = whole.n_cases(tuple(whole.methods))
    assert wanted == len(list(whole.cases(tuple(whole.methods))))
    [_, _, left] = not_run(
        [whole], {"tiny": Results([made_up("DPLloyd", run=i) for i in range(wanted // 2)])}
    )
    assert left.rows[0][3:] == (f"{wanted // 2} of {wanted}", "1")
    assert not list(not_run([whole], {"tiny": Results([made_up("DPLloyd", run=i) for i in range(wanted)])}))


def test_captions_say_where_a_figure_is_narrower_than_its_paper(tiny, made_up):
    def told(found, **changes):
        paper = replace(tiny, hours=2.0, methods=tiny.methods[:2], **changes)
        [picture] = pictures(paper, Results(found), ("overview",))
        return picture.caption

    iris = [made_up("DPLloyd", series="iris", x=4.0, run=i, ratio=1.0) for i in range(4)]
    so_far = "so far 1 of 2 tables, not at epsilon = 0.5 (the rest takes 2 hours of two cores)."
    assert told(iris).endswith(f" Narrower than the paper: {so_far}")
    both = [made_up("DPLloyd", series=d.label, x=x, ratio=1.0) for d in tiny.data for x in (0.5, 4.0)]
    assert "arrower" not in told(both)
    assert told(both, narrower="no moon").endswith(" Narrower than the paper: no moon.")
    fewer = [*both, made_up("KMeans", series="iris", x=4.0, ratio=1.0)]
    assert "so far 1 for KMeans (" in told(fewer)
    assert " So far: " in told(iris, paper="ours")


def test_medians_stand_beside_means_where_runs_scatter(made_up):
    steady = Results([made_up("a", run=i, nicv=v) for i, v in enumerate((1.0, 1.1, 0.9))])
    wild = Results([made_up("a", run=i, nicv=v) for i, v in enumerate((1.0, 1.1, 90.0))])
    assert str(steady.summary("nicv")) == "1 ± 0.1"
    assert str(wild.summary("nicv")).endswith(", median 1.1")


def test_a_million_rows_are_not_taken_for_no_noise(tiny, made_up):
    def names(over, values):
        found = Results(runs(made_up, "KMeans", dict.fromkeys(values, 1.0)))
        [ax] = curves(replace(tiny, sweep=Sweep(over, values)), found, "nicv").axes
        return [text.get_text() for text in ax.get_xticklabels()]

    assert names("n", (1e4, 1e6, 1e8)) == ["10,000", "1,000,000", "100,000,000"]
    assert names("epsilon", (0.1, 1.0, 1e6)) == ["0.1", "1", "no noise"]


def test_no_panel_has_more_than_eight_lines(tiny, made_up):
    records = []
    for i in range(12):
        records += runs(made_up, f"method {i}", {0.1: 2.0 + i, 1.0: 1.0 + i})
    records += runs(made_up, "KMeans", {0.1: 90.0, 1.0: 90.0})
    figure = curves(replace(tiny, metrics=("nicv",)), Results(records), "nicv")
    [ax] = figure.axes
    drawn = {text.get_text() for text in ax.texts}
    assert len([name for name in drawn if name.startswith("method")]) == 7
    assert "KMeans" in drawn
    assert len(ax.collections) == 8  # a band for each


def test_a_sentence_counts_verdicts_and_leaves_our_own_claims_out(tiny, made_up):
    claims = (
        Claim("a beats b", ("DPLloyd",), lambda _: Verdict("holds", "")),
        Claim("c beats d", ("DPLloyd",), lambda _: Verdict("does not hold", "")),
        Claim("(ours) we are good", ("DPLloyd",), lambda _: Verdict("holds", "")),
    )
    paper = replace(tiny, paper="Some et al. 2001, figure 3", claims=claims)
    found = Results(
        [made_up(m, run=i, nicv=v) for i in range(3) for m, v in (("DPLloyd", 2.0), ("KMeans", 1.0))]
    )
    told = sentence("Some et al. 2001", judged([paper], {"tiny": found}), {"tiny": found})
    assert told.startswith(
        "**Some et al. 2001**: 1 of 2 claims hold, 1 not. In its figures KMeans costs 0.50"
    )
    assert told.endswith("less than all of them in 1 of 1 comparisons.")


def test_two_runs_of_each_are_no_verdict(tiny, made_up):
    paper = replace(tiny, claims=(Claim("a beats b", ("a", "b"), better("a", "b")),))
    for n, said in ((2, "not run"), (3, "does not hold")):
        found = Results([made_up(m, run=i, nicv=v) for i in range(n) for m, v in (("a", 2.0), ("b", 1.0))])
        [one] = judged([paper], {"tiny": found})
        assert (one.verdict.outcome, one.runs) == (said, str(n))
