"""The program as a whole: its exit codes and its help."""

import re
import subprocess
import sys

import click
import pytest

from dpcate.cli.main import commands

NAMES = [name for name in commands.commands if name not in ("ledger", "reproduce")]


def test_an_error_is_one_line_with_exit_code_2():
    call = [sys.executable, "-c", "from dpcate.cli import main; main()", "demo", "--epsilon", "-1"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip() == "dpcate: `epsilon` must be a positive finite number; got -1.0."
    assert done.stdout == ""


def test_commands_stand_in_the_order_of_a_working_day(call):
    listed = re.findall(r"^  (\w+)  ", call("--help").out.split("Commands:")[1], re.MULTILINE)
    assert listed == ["init", "check", "plan", "fit", "effect", "card", "report", "ledger", "demo", "reproduce"]


def test_without_a_command_the_help_is_shown(call):
    result = call()
    assert result.code == 2
    assert "Commands:" in result.err


@pytest.mark.parametrize("name", NAMES)
def test_help_is_complete_and_fits_a_terminal(call, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = call(name, "--help")
    assert result.code == 0
    assert all(len(line) <= 80 for line in result.out.splitlines())
    command = commands.commands[name]
    assert all(option.help for option in command.params if isinstance(option, click.Option))
    assert not re.search(r"\.\.\.$", command.get_short_help_str(limit=60))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "demo"])
def test_a_missing_argument_points_to_the_help(refused, name):
    line = refused(name)
    assert "Missing" in line
    assert f"dpcate {name} --help" in line


def test_an_unknown_command_is_one_line(refused):
    assert "No such command 'fitt'" in refused("fitt")
