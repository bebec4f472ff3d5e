"""The demo command, run as a user would."""

from click.testing import CliRunner

from dpcate.cli.main import commands


def test_the_demo_prints_effects_with_the_guarantee():
    result = CliRunner().invoke(commands, ["demo", "--epsilon", "2"])
    assert result.exit_code == 0, result.output
    assert "epsilon = 2 at delta = 1e-05" in result.output
    assert "percentage points" in result.output
    assert "VOID" not in result.output
