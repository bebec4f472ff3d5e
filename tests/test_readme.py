"""The README's example runs as printed and is as short as promised."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def example():
    return re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL).group(1)


def test_the_example_runs_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(example(), "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("epsilon = 1 at delta = 1e-05 for replacing one row")
    assert (tmp_path / "model.json").exists()


def test_the_example_is_short():
    assert len([line for line in example().splitlines() if line.strip()]) <= 16


def test_every_link_of_the_readme_leads_somewhere():
    for target in re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / target).exists(), target
