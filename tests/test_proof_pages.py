"""A proof stands beside the code that it proves: pages exist, are named, and their numbers are right."""

import ast
import doctest
import re
from pathlib import Path

import pytest

import dpcate

ROOT = Path(dpcate.__file__).parent
REPOSITORY = Path(__file__).parent.parent
PAGES = sorted((REPOSITORY / "docs" / "privacy").glob("*.md"))
MODULES = sorted(ROOT.rglob("*.py"))
PAGE_NAME = re.compile(r"docs/[\w/-]+\.md")
SECTIONS = ("Statement", "Assumptions", "Proof", "What the code does", "Numbers", "What is not covered")
PROVED_HERE = ("discrete_gaussian", "histogram", "vector_sum", "cell_sums", "moments", "plans")


def name(path):
    return str(path.relative_to(ROOT))


def uses_a_mechanism(path):
    """Whether a model's module makes a release by itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    released = ("Release", "Sum", "DiscreteGaussian")
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith(released)
        for node in ast.walk(tree)
    )


def pages_of(path):
    """The pages that a module's docstring names."""
    return PAGE_NAME.findall(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")


def beside(path):
    """The modules of the same model: those of its own package, or the module alone."""
    return [path] if path.parent.name == "models" else sorted(path.parent.rglob("*.py"))


MECHANISMS = [path for path in sorted((ROOT / "mechanisms").rglob("*.py")) if path.name != "__init__.py"]
MODELS = [path for path in sorted((ROOT / "models").rglob("*.py")) if uses_a_mechanism(path)]


@pytest.mark.parametrize("path", MECHANISMS, ids=name)
def test_every_mechanism_names_its_proof_page(path):
    pages = pages_of(path)
    assert pages, "the module's docstring must name its page in docs/privacy"
    assert all((REPOSITORY / page).is_file() for page in pages)


@pytest.mark.parametrize("path", MODELS, ids=name)
def test_every_model_that_makes_releases_names_its_proof_page(path):
    pages = [page for module in beside(path) for page in pages_of(module)]
    assert pages, "a docstring of the model's modules must name its page in docs/privacy"
    assert all((REPOSITORY / page).is_file() for page in pages)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_every_page_that_a_source_file_names_exists(path):
    missing = [
        page for page in PAGE_NAME.findall(path.read_text(encoding="utf-8")) if not (REPOSITORY / page).is_file()
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_file_that_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
    files = re.findall(r"`((?:src|tests)/[\w/]+(?:\.py|/))`", text)
    assert [file for file in files if not (REPOSITORY / file).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_numbers_of_a_page_are_what_its_commands_print(page):
    results = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


@pytest.mark.parametrize("page", PROVED_HERE)
def test_a_proof_page_has_all_its_parts(page):
    text = (REPOSITORY / "docs" / "privacy" / f"{page}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert [
        section for section in SECTIONS if section not in headings and (page, section) != ("plans", "Numbers")
    ] == []


def test_the_index_names_every_page():
    index = (REPOSITORY / "docs" / "privacy" / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.name != "README.md" and f"({page.name})" not in index] == []
