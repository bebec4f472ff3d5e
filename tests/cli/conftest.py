"""Tables, schemas and releases as files, and the command line as a function."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from dpcate import RLearner
from dpcate.cli.errors import run
from dpcate.cli.main import commands
from dpcate.ledger import Ledger


@dataclass
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture
def call(capsys):
    """Run a command as the program does and return how it ended."""

    def called(*arguments):
        capsys.readouterr()
        code = run(commands, [str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return called


@pytest.fixture
def refused(call):
    """Run a command that must be refused: exit code 2 and one line."""

    def ended(*arguments, code=2):
        result = call(*arguments)
        steps = [line for line in result.err.splitlines() if not line.endswith(" ...")]
        assert result.code == code, result
        assert len(steps) == 1, result.err
        assert steps[0].startswith("dpcate: ")
        assert "Traceback" not in result.err
        return steps[0]

    return ended


@pytest.fixture(scope="session")
def frame(columns):
    return pa.table({name: pa.array(values.tolist()) for name, values in columns.items()})


@pytest.fixture
def csv_table(tmp_path, frame):
    pyarrow.csv.write_csv(frame, tmp_path / "people.csv")
    return tmp_path / "people.csv"


@pytest.fixture
def parquet_table(tmp_path, frame):
    pyarrow.parquet.write_table(frame, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


@pytest.fixture
def schema_file(tmp_path, schema):
    schema.dump(tmp_path / "schema.toml")
    return tmp_path / "schema.toml"


@pytest.fixture
def ledger(tmp_path):
    """A ledger with a data set `people` and room for about three releases of epsilon = 1."""
    made = Ledger.open(tmp_path / "ledger.sqlite")
    made.create("people", epsilon=2.0, delta=1e-5, neighbours="replace")
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def spent(ledger):
    """Return the number of entries in the ledger."""
    return lambda: len(Ledger.open(ledger).status("people").entries)


@pytest.fixture(scope="session")
def fitted(schema, frame):
    return RLearner(schema, epsilon=4.0, delta=1e-5).fit_table(frame)


@pytest.fixture
def model(tmp_path, fitted):
    fitted.save(tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.fixture
def files(tmp_path):
    """Return the names of everything under the test's folder."""
    return lambda: {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}


@pytest.fixture
def quick_page(monkeypatch):
    """A release without pictures, for tests of everything else: rendering takes seconds."""

    def plain(learner, card, *, title=None):
        return f"<h1>{card['title']}</h1>"

    monkeypatch.setattr("dpcate.report.release.render_report", plain)
    monkeypatch.setattr("dpcate.report.render_report", plain)
