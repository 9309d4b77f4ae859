"""What users see first: the names, the help, and what is said where a name is missing."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
import zoo
from shoal.estimators.docstrings import entries, section

FIRST = zoo.first_of_each([*zoo.MODELS, *zoo.SYNOPSES, *zoo.STEPS])


def test_names_are_exported_from_one_list():
    tree = ast.parse(Path(shoal.__file__).read_text())
    for_checkers = next(node for node in tree.body if isinstance(node, ast.If))
    imported = [
        alias.name for node in for_checkers.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    assert sorted([*imported, "__version__"]) == shoal.__all__ == sorted(set(shoal.__all__))
    assert dir(shoal) == shoal.__all__
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    with pytest.raises(AttributeError, match="it has Accountant"):
        shoal.KMean  # noqa: B018


def test_a_light_name_loads_nothing_heavy():
    code = "import shoal, sys; shoal.Accountant; print('sklearn' in sys.modules or 'pyarrow' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


@pytest.mark.parametrize("member", FIRST, ids=lambda member: member.kind.__name__)
def test_help_tells_of_every_parameter_and_of_all_that_a_fit_leaves(member):
    doc = inspect.cleandoc(member.kind.__doc__)
    told = {name for names in entries(section(doc, "Parameters")) for name in names.split(", ")}
    assert told == set(inspect.signature(member.kind).parameters)
    left = {name for names in entries(section(doc, "Attributes")) for name in names.split(", ")}
    held = {name for name in vars(member.fitted) if name.endswith("_") and not name.startswith("_")}
    assert held - {"n_features_in_", "feature_names_in_"} <= left


@pytest.mark.parametrize("member", zoo.first_of_each(zoo.MODELS), ids=lambda member: member.kind.__name__)
def test_what_is_not_held_says_why_and_what_to_use_instead(member):
    for name, instead in (("labels_", "predict"), ("inertia_", "score")):
        for model in (member.model, member.fitted):
            assert not hasattr(model, name)
            with pytest.raises(AttributeError, match=rf"{member.kind.__name__} has no {name}: .*{instead}"):
                getattr(model, name)


@pytest.mark.parametrize("member", FIRST, ids=lambda member: member.kind.__name__)
def test_a_wrong_parameter_is_told_by_the_class_that_was_called(member):
    given = member.model.get_params(deep=False)
    with pytest.raises(TypeError, match=member.kind.__name__):
        member.kind(**given, epsilom=1.0)
    without = {name: value for name, value in given.items() if name != "epsilon"}
    with pytest.raises(TypeError, match=member.kind.__name__):
        member.kind(**without)


def test_a_misspelt_parameter_is_guessed():
    with pytest.raises(TypeError, match=r"KMeans has no parameter 'bound'; did you mean 'bounds'\?"):
        shoal.KMeans(3, epsilon=1.0, bound=(0, 1))
