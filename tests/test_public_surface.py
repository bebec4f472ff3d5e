"""What a package offers is what it lists: ``__all__`` equals its public names, and each of them can be imported."""

import importlib
import inspect
from pathlib import Path

import pytest

import dpcate

ROOT = Path(dpcate.__file__).parent


def dotted(path):
    parts = ("dpcate", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PACKAGES = [dotted(path) for path in sorted(ROOT.rglob("__init__.py"))]
MODULES = [dotted(path) for path in sorted(ROOT.rglob("*.py")) if path.name not in ("__init__.py", "__main__.py")]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_lists_exactly_its_public_names(name):
    package = importlib.import_module(name)
    public = {
        key
        for key, value in vars(package).items()
        if not key.startswith("_") and not inspect.ismodule(value) and key not in ("annotations", "TYPE_CHECKING")
    }
    listed = [key for key in package.__all__ if not key.startswith("__")]
    assert set(listed) == public
    assert len(package.__all__) == len(set(package.__all__))


@pytest.mark.parametrize("name", [*PACKAGES, *MODULES])
def test_every_listed_name_can_be_imported(name):
    module = importlib.import_module(name)
    assert [key for key in getattr(module, "__all__", ()) if not hasattr(module, key)] == []


def test_the_names_of_the_design_can_be_imported_from_the_top():
    for name in ("Schema", "Number", "Category", "RLearner", "DRLearner", "SLearner", "load"):
        assert name in dpcate.__all__
