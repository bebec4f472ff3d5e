"""The voting data: recognised by content, refused otherwise."""

import subprocess

import numpy as np
import pytest

from dpcate.errors import ParameterError, TableError
from dpcate.experiments import voting
from dpcate.experiments.studies import make_study
from dpcate.experiments.voting import VOTING_BLOB, VOTING_SCHEMA, git_blob_id

COLUMNS = "persons,state,county,competiv,st_sen,st_hse,newreg,vote98,vote00,age,female,Y,W"
N_PEOPLE, N_TRAINING = 3000, 2000


def made_up_file(path, header=COLUMNS):
    generator = np.random.default_rng(6)
    yes_no = generator.integers(0, 2, (N_PEOPLE, 13))
    yes_no[:, 9] = 18 + np.arange(N_PEOPLE) // 40
    yes_no[:, 2] = np.arange(N_PEOPLE)  # the county tells who it is
    lines = [header, *(",".join(map(str, row)) for row in yes_no.tolist())]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def path(tmp_path, monkeypatch):
    made = made_up_file(tmp_path / "voting.csv")
    monkeypatch.setattr(voting, "VOTING_BLOB", git_blob_id(made.read_bytes()))
    monkeypatch.setattr(voting, "N_TRAINING", N_TRAINING)
    return made


def test_the_id_is_git_s(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"some\ncontent\x00")
    try:
        said = subprocess.run(["git", "hash-object", str(file)], capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("git is not installed")
    assert git_blob_id(file.read_bytes()) == said.strip()


def test_the_paper_s_file_is_recognised_and_divided(path):
    study = make_study("voting", voting=path)
    X, effect = study.test(50_000, 0)
    table = study.draw(N_TRAINING, 1).table
    assert study.name == "voting"
    assert len(effect) == N_PEOPLE - N_TRAINING
    assert set(table["county"]).isdisjoint(X["county"])
    assert len(set(table["county"])) == N_TRAINING
    assert set(table) == set(VOTING_SCHEMA.column_names)
    assert effect == pytest.approx(-X["vote00"] * 0.5 / (1 + 50 / X["age"]))


def test_treatment_stays_as_it_was_and_outcomes_flip_only_for_those_with_an_effect(path):
    table = make_study("voting", voting=path).draw(N_TRAINING, 1).table
    people = np.loadtxt(path, delimiter=",", skiprows=1)[table["county"].astype(int)]
    assert table["W"].tolist() == people[:, 12].tolist()
    changed = table["Y"] != people[:, 11]
    assert changed.any()
    assert set(table["vote00"][changed]) == {1}
    assert (table["Y"][changed] == 1 - table["W"][changed]).all()


def test_a_study_of_the_voting_data_can_be_fitted(path):
    from dpcate import RLearner

    study = make_study("voting", voting=path)
    learner = RLearner(study.schema, epsilon=100.0, random_state=1).fit_table(study.draw(N_TRAINING, 1).table)
    X, effect = study.test(1000, 0)
    assert np.mean((learner.effect(X) - effect) ** 2) < effect.var()


def test_another_file_is_refused_with_the_id_that_was_expected(tmp_path):
    with pytest.raises(TableError, match=VOTING_BLOB):
        make_study("voting", voting=made_up_file(tmp_path / "voting.csv"))


def test_one_changed_byte_is_another_file(path):
    path.write_bytes(path.read_bytes()[:-2] + b"9\n")
    with pytest.raises(TableError, match="git hash-object"):
        make_study("voting", voting=path)


def test_a_recognised_file_without_the_columns_is_refused(tmp_path, monkeypatch):
    made = made_up_file(tmp_path / "voting.csv", header=COLUMNS.replace("vote00", "vote01"))
    monkeypatch.setattr(voting, "VOTING_BLOB", git_blob_id(made.read_bytes()))
    with pytest.raises(TableError, match="columns"):
        make_study("voting", voting=made)


def test_no_file_and_no_path_are_refused(tmp_path):
    with pytest.raises(TableError, match="there is none"):
        make_study("voting", voting=tmp_path / "nowhere.csv")
    with pytest.raises(ParameterError, match="`voting`"):
        make_study("voting")
