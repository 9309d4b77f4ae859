"""What all commands share: `--json` with all that is known, exit codes, and tables that fit the terminal."""

import io
import json

import click
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from rich.console import Console

import zoo
from shoal import DPLloyd, GridSynopsis, PrivateCoreset, PrivateScaler
from shoal.algorithms import PIPELINE_STEPS, REGISTRY, SYNOPSES
from shoal.cli import _COMMANDS, main
from shoal.cli.show import tables
from shoal.reporting.console import EXIT_CODES, Exit


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release of two columns."""
    folder = tmp_path_factory.mktemp("json") / "release"
    next(m for m in zoo.MODELS if m.kind.__name__ == "DPLloyd").fitted.release_.save(folder)
    return folder


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args], catch_exceptions=False)


def commands(group, *above):
    """Every command with its name, and those of groups of commands."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)
        else:
            yield " ".join((*above, name)), command


def test_every_command_speaks_to_machines():
    without = {"bench run", "bench report", "bench peers setup"}  # what these make is kept in files
    found = {name: {o for p in command.params for o in p.opts} for name, command in commands(main)}
    assert {name for name, options in found.items() if "--json" not in options} == without
    assert {name.split()[0] for name in found} == set(_COMMANDS)
    assert json.loads(run("bench", "list", "--json").output)


def said(values):
    # JSON has no word for infinite: a centre that rests on no rows.
    return [float(value) if np.isfinite(value) else None for value in values]


def test_json_has_errors_intervals_and_the_algorithm(released):
    shown = json.loads(run("show", released, "--json").output)
    release = next(m for m in zoo.MODELS if m.kind.__name__ == "DPLloyd").fitted.release_
    assert shown["algorithm"] == "lloyd"
    assert shown["level"] == release.intervals.level
    for i, group in enumerate(shown["groups"]):
        assert list(group["centre"].values()) == release.centres[i].tolist()
        assert list(group["centre_noise_sd"].values()) == said(release.centre_sd[i])
        assert list(group["centre_noise_low"].values()) == said(release.intervals.centre_low[i])
        assert list(group["centre_noise_high"].values()) == said(release.intervals.centre_high[i])
        assert (group["size_noise_low"], group["size_noise_high"]) == (
            release.intervals.size_low[i],
            release.intervals.size_high[i],
        )
        assert group["size_noise_sd"] == release.size_sd


def test_exit_codes_are_said_in_one_place():
    said = " ".join(run("--help").output.split())
    assert set(EXIT_CODES) == set(Exit)
    for code, meaning in EXIT_CODES.items():
        assert f"{int(code)} {meaning}" in said


def test_what_can_be_set_of_an_algorithm_is_listed():
    said = run("algorithms", "merging").output
    assert "variant=allocation_nk" in said
    assert "bounds=" not in said  # has an option of its own
    listed = json.loads(run("algorithms", "merging", "--json").output)
    assert {p["name"] for p in listed["set"]} == {"variant", "factor", "max_iter", "merge", "noise"}
    refused = run("algorithms", "mergin")
    assert refused.exit_code == Exit.BAD_INPUT
    assert "there are auto" in refused.stderr
    assert "a step of pipelines" in run("algorithms", "scaler").output
    known = {(row["kind"], row["name"]) for row in json.loads(run("algorithms", "--json").output)}
    rooms = {"groups": REGISTRY, "synopsis": SYNOPSES, "step": PIPELINE_STEPS}
    assert known == {(kind, name) for kind, room in rooms.items() for name in room}


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("columns", [2, 10])
@pytest.mark.parametrize("groups", [1, 7])
def test_no_cell_of_a_table_is_cut(width, columns, groups):
    header = ["group", *(f"measure_{i}" for i in range(columns)), "size"]
    cells = np.arange(groups * (columns + 2)).reshape(groups, -1)
    lines = [[f"{value}.123 ± 0.04" for value in row] for row in cells]
    console = Console(width=width, record=True, file=io.StringIO())
    for table in tables("Groups", header, lines, width):
        console.print(table)
    said = console.export_text()
    assert max(map(len, said.splitlines())) <= width
    for text in [*header, *(cell for line in lines for cell in line)]:
        assert text in said
    assert "…" not in said


@pytest.mark.parametrize("kind", [DPLloyd, GridSynopsis, PrivateCoreset, PrivateScaler])
@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_ten_columns_are_readable_in_a_terminal_of_80_letters(kind, tmp_path, monkeypatch):
    names = [f"a_long_name_{i}" for i in range(10)]
    rows = pa.table(dict(zip(names, np.random.default_rng(0).uniform(-1, 1, (10, 400)), strict=True)))
    few = {"n_clusters": 7} if kind is DPLloyd else {"n_clusters": 2} if kind is PrivateCoreset else {}
    few |= {"resolution": 2} if kind is GridSynopsis else {}
    kind(**few, epsilon=50.0, bounds=(-1, 1)).fit(rows).release_.save(tmp_path / "release")
    monkeypatch.setenv("COLUMNS", "80")
    command = ["ask", "--k", "7"] if kind is GridSynopsis else ["show"]
    told = run(command[0], tmp_path / "release", *command[1:]).output.split("algorithm  ")[0]
    assert max(map(len, told.splitlines())) <= 80
    assert "…" not in told
    assert all(name in told for name in names)
