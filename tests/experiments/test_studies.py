"""Studies of simulated rows: the setups' rows under the schema's names."""

import numpy as np
import pytest

from dpcate import RLearner
from dpcate.errors import ParameterError
from dpcate.experiments import SETUP_NAMES, make_setup
from dpcate.experiments.studies import make_study

each_setup = pytest.mark.parametrize("name", SETUP_NAMES)


@each_setup
def test_a_draw_is_the_setup_s_under_the_schema_s_names(name):
    study, sample = make_study(name), make_setup(name).draw(50, 7)
    table = study.draw(50, 7).table
    assert study.name == name
    assert set(table) == set(study.schema.column_names)
    assert np.column_stack([table[column] for column in study.schema.feature_names]).tolist() == sample.X.tolist()
    assert (table["y"].tolist(), table["t"].tolist()) == (sample.Y.tolist(), sample.T.tolist())


@each_setup
def test_test_rows_carry_their_true_effects_and_can_be_predicted(name):
    study, sample = make_study(name), make_setup(name).draw(100, 9)
    X, effect = study.test(100, 9)
    assert effect.tolist() == sample.effect.tolist()
    learner = RLearner(study.schema, random_state=1).fit_table(study.draw(500, 1).table)
    assert np.isfinite(learner.effect(X)).all()
    assert learner.effect(X).tolist() == learner.effect(sample.X).tolist()


def test_an_unknown_study_is_refused_by_name():
    with pytest.raises(ParameterError, match="GOTV, voting"):
        make_study("F")
