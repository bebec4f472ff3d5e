"""The layers of the package: imports point downwards, no cycles, and only `mechanisms` draws privacy noise."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dpcate

ROOT = Path(dpcate.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
LEVELS = {
    "cli": 7,
    "report": 6,
    "ledger": 6,
    "planning": 6,
    "experiments": 6,
    "audit": 6,
    "": 5,  # the package's own __init__: re-exports learners and schema
    "learners": 4,
    "models": 3,
    "tables": 2,
    "splitting": 2,
    "mechanisms": 2,
    "accounting": 1,
    "schema": 1,
    "errors": 0,
    "kernels": 1,
}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
MAY_USE_RANDOM = {"mechanisms", "splitting", "experiments"}


def dotted(path):
    parts = ("dpcate", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package(module):
    """The layer's name of a dotted module: the part after `dpcate`."""
    return [*module.split("."), ""][1]


NAMES = {dotted(path): path for path in MODULES}


class WithoutTypeChecking(ast.NodeTransformer):
    """Drops `if TYPE_CHECKING:` blocks, which never run."""

    def visit_If(self, node):
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node.orelse
        return self.generic_visit(node)


def imports(path, *, for_types=True):
    """Every absolute import of a file, wherever it stands: (module, name or None)."""
    found = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree if for_types else WithoutTypeChecking().visit(tree)):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{dotted(path)} has a relative import"
            found += [(node.module, alias.name) for alias in node.names]
    return found


def own_imports(path, *, for_types=True):
    """The modules of ours that a file imports; `from package import module` counts as the module."""
    targets = set()
    for module, name in imports(path, for_types=for_types):
        if module.split(".")[0] == "dpcate":
            inner = f"{module}.{name}"
            targets.add(inner if inner in NAMES else module)
    return targets


def text_without_docstrings(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(value=None)
    return ast.unparse(tree)


each_module = pytest.mark.parametrize("path", MODULES, ids=dotted)


@each_module
def test_every_module_belongs_to_a_layer(path):
    assert package(dotted(path)) in LEVELS


@each_module
def test_imports_point_downwards(path):
    here = package(dotted(path))
    for target in own_imports(path):
        there = package(target)
        assert there == here or LEVELS[there] < LEVELS[here], f"{dotted(path)} may not import {target}"


def test_there_is_no_import_cycle_not_even_one_hidden_in_functions():
    graph = {dotted(path): own_imports(path, for_types=False) - {dotted(path)} for path in MODULES}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@each_module
def test_only_mechanisms_import_the_noise_library(path):
    if package(dotted(path)) != "mechanisms":
        assert not [module for module, _ in imports(path) if module.split(".")[0] == "opendp"]


@each_module
def test_only_mechanisms_splitting_and_experiments_make_random_numbers(path):
    if package(dotted(path)) in MAY_USE_RANDOM:
        return
    modules = {module.split(".")[0] for module, _ in imports(path)}
    assert not modules & {"random", "secrets"}
    assert not [module for module, _ in imports(path) if module.startswith("numpy.random")]
    made = re.findall(r"\b(?:np|numpy)\.random\.(\w+)", text_without_docstrings(path))
    assert set(made) <= {"Generator"}, "outside, a generator may be named as a type but not made"


@each_module
def test_privacy_noise_is_drawn_in_mechanisms_alone(path):
    if package(dotted(path)) != "mechanisms":
        assert ".discrete_gaussian(" not in text_without_docstrings(path)


@each_module
def test_accounting_never_sees_a_table(path):
    if package(dotted(path)) == "accounting":
        assert {package(target) for target in own_imports(path)} <= {"accounting", "errors"}


@each_module
def test_modules_are_named_after_what_is_in_them(path):
    assert not set(dotted(path).split(".")) & FORBIDDEN_NAMES


def test_the_checks_notice_what_they_are_for(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(
        "def f():\n    import numpy as np\n    from dpcate.cli import main\n    return np.random.default_rng()\n"
    )
    assert own_imports(bad) == {"dpcate.cli.main"} or own_imports(bad) == {"dpcate.cli"}
    assert re.findall(r"\bnp\.random\.(\w+)", text_without_docstrings(bad)) == ["default_rng"]
