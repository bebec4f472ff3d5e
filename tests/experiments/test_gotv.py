"""GOTV: the loader on a made-up file of the same form, and on the trial's own file where there is one."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcate.errors import ParameterError, TableError
from dpcate.experiments.gotv import GOTV_SCHEMA, load_gotv
from dpcate.experiments.studies import make_study

N_PEOPLE = 6000
needs_the_trial = pytest.mark.skipif(
    not os.environ.get("DPCATE_GOTV"), reason="set DPCATE_GOTV to the path of the trial's Parquet file"
)


def made_up_trial():
    generator = np.random.default_rng(8)

    def choose(*levels):
        return pa.array(generator.choice(levels, N_PEOPLE)).dictionary_encode()

    numbers = {"hh_size": 8, "n_general": 3, "n_primary": 4}
    return {
        "treatment": choose(" Control", "Control", "Self", "Neighbors"),
        "voted": choose("Yes", "No", "No"),
        **{name: generator.integers(0, top + 1, N_PEOPLE).astype(float) for name, top in numbers.items()},
        "age": 20 + np.arange(N_PEOPLE) / 100,  # nobody has the age of another
        "sex": choose("female", "male"),
        **{name: choose("no", "yes") for name in ("g2000", "g2002", "p2000", "p2002")},
        "p2004": choose("No", "Yes"),
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    where = tmp_path_factory.mktemp("gotv") / "trial.parquet"
    pq.write_table(pa.table(made_up_trial()), where)
    return where


def test_only_the_control_group_is_loaded_with_the_paper_s_effect(path):
    people, effect = load_gotv(path)
    table = pq.read_table(path).to_pandas()
    control = table[table["treatment"].astype(str).str.strip() == "Control"]
    assert people["age"].tolist() == control["age"].tolist()
    assert people["voted"].tolist() == (control["voted"] == "Yes").astype(float).tolist()
    by_hand = [-(vote == "yes") / (2 + 100 / age) for vote, age in zip(control["g2000"], control["age"], strict=True)]
    assert effect == pytest.approx(by_hand)


def test_nobody_is_both_trained_and_tested_on(path):
    study = make_study("GOTV", gotv=path)
    X, effect = study.test(10**6, 0)
    everybody = load_gotv(path)[0]["age"]
    drawn = {age for seed in range(20) for age in study.draw(1000, seed).table["age"]}
    assert drawn.isdisjoint(X["age"])
    assert len(drawn) + len(X["age"]) == pytest.approx(len(everybody), abs=5)
    assert len(effect) == len(X["age"]) == len(set(X["age"]))
    assert tuple(X) == GOTV_SCHEMA.feature_names


def test_a_draw_has_distinct_people_treated_by_chance(path):
    study = make_study("GOTV", gotv=path)
    table = study.draw(1500, 3).table
    assert len(set(table["age"])) == 1500
    assert set(table) == set(GOTV_SCHEMA.column_names)
    assert np.mean(table["treated"]) == pytest.approx(0.4, abs=0.05)
    assert set(table["voted"]) == {0.0, 1.0}
    again, other = study.draw(1500, 3).table, study.draw(1500, 4).table
    assert again["voted"].tolist() == table["voted"].tolist()
    assert other["age"].tolist() != table["age"].tolist()


def test_the_spiked_outcomes_have_the_effect(path):
    study = make_study("GOTV", gotv=path)
    found, true = [], []
    for seed in range(40):
        table = study.draw(1500, seed).table
        voted_2000 = table["g2000"] == "yes"
        treated = table["treated"] == 1
        Y = table["voted"]
        found.append(Y[voted_2000 & treated].mean() - Y[voted_2000 & ~treated].mean())
        true.append(np.mean(-1 / (2 + 100 / table["age"][voted_2000])))
    assert np.mean(true) < -0.2
    assert np.mean(found) == pytest.approx(np.mean(true), abs=0.02)


def test_more_rows_than_there_are_people_are_refused(path):
    with pytest.raises(ParameterError, match="`n` must be at most"):
        make_study("GOTV", gotv=path).draw(N_PEOPLE, 0)


def test_a_file_that_is_not_the_trial_is_refused(tmp_path):
    text, other = tmp_path / "text.parquet", tmp_path / "other.parquet"
    text.write_text("nothing")
    pq.write_table(pa.table({name: column for name, column in made_up_trial().items() if name != "g2002"}), other)
    with pytest.raises(TableError, match="can be read"):
        make_study("GOTV", gotv=text)
    with pytest.raises(TableError, match="'g2002'"):
        make_study("GOTV", gotv=other)
    with pytest.raises(ParameterError, match="`gotv`"):
        make_study("GOTV")


@needs_the_trial
def test_the_trial_s_own_file_has_its_control_group_and_a_moderate_effect():
    people, effect = load_gotv(os.environ["DPCATE_GOTV"])
    assert len(effect) == 191_243
    assert np.mean(people["voted"]) == pytest.approx(0.297, abs=0.001)
    assert effect.var() == pytest.approx(0.0107, abs=0.002)
    study = make_study("GOTV", gotv=os.environ["DPCATE_GOTV"])
    assert len(study.test(50_000, 0)[1]) == 50_000
    assert len(study.draw(32_000, 0).table["voted"]) == 32_000
