"""The README's example and walk-through run as printed; the example is as short as promised."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpcate import load
from dpcate.ledger import Ledger
from dpcate.report import check_card

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


def walk_through():
    """The shell blocks of the README, in order, as one script."""
    return "".join(re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL))


def test_the_walk_through_goes_through_the_whole_day():
    verbs = re.findall(r"^dpcate (\w+)", walk_through(), re.MULTILINE)
    assert verbs == ["init", "check", "ledger", "fit", "effect", "card", "report", "fit", "ledger", "ledger"]


@pytest.mark.slow
def test_the_walk_through_runs_as_printed(tmp_path):
    pytest.importorskip("causaldata")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", walk_through()],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "schema.toml is complete." in done.stdout
    assert "age,distvct,hiv2004,effect,lower,upper\n25,1,0," in done.stdout
    assert "exit code 3" in done.stdout
    assert "ledger.sqlite: intact." in done.stdout
    release = tmp_path / "release"
    assert {path.name for path in release.iterdir()} == {"model.json", "card.json", "report.html"}
    check_card(json.loads((release / "card.json").read_text(encoding="utf-8")))
    learner = load(release / "model.json")
    low, high = learner.ate_interval()
    assert f"(95 % interval {low:+.4g} to {high:+.4g})" in done.stdout
    status = Ledger.open(tmp_path / "ledger.sqlite").status("trial")
    assert len(status.entries) == 1
    assert status.spent_epsilon == pytest.approx(1.0, rel=1e-4)
    assert not (tmp_path / "second").exists()
    assert "Does money help?" in (tmp_path / "report.html").read_text(encoding="utf-8")
