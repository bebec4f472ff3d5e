"""Errors of the command line: one line, exit code 2."""

import subprocess
import sys


def test_an_error_is_one_line_with_exit_code_2():
    call = [sys.executable, "-c", "from dpcate.cli import main; main()", "demo", "--epsilon", "-1"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip() == "dpcate: `epsilon` must be a positive finite number; got -1.0."
    assert "Guarantee" not in done.stdout
