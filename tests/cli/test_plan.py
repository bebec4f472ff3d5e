"""``dpcate plan``: expectations and plain advice, from a schema file alone."""


def test_it_prints_assumptions_expectations_and_advice(call, schema_file, files):
    before = files()
    result = call("plan", "--schema", schema_file, "--n", 400, "--epsilon", "0.1,50", "--runs", 2)
    assert result.code == 0, result
    assert "Assumed, not read from any table (400 rows" in result.out
    assert "standard deviation of 0.05, around 0.05" in result.out
    assert "epsilon 0.1: release the average effect only" in result.out
    rows = [line.split() for line in result.out.splitlines() if line.split()[:1] in (["0.1"], ["50"])]
    assert [len(row) for row in rows] == [5, 5]
    assert float(rows[0][1]) > float(rows[1][1]) > 0
    assert files() == before


def test_the_assumed_spread_decides_what_is_advised(call, schema_file):
    asked = ("plan", "--schema", schema_file, "--n", 4000, "--epsilon", "8", "--runs", 2)
    assert "average effect only" in call(*asked, "--effect-sd", 0.0001).out
    assert "closer to the truth" in call(*asked, "--effect-sd", 0.3, "--noise-sd", 0.1, "--baseline-sd", 0.1).out


def test_the_mean_of_the_effects_can_be_told(call, schema_file):
    asked = ("plan", "--schema", schema_file, "--n", 400, "--epsilon", "1", "--runs", 1)
    assert "standard deviation of 0.05, around -0.2\n" in call(*asked, "--average-effect", "-0.2").out


def test_the_share_of_the_treated_can_be_told(call, schema_file):
    asked = ("plan", "--schema", schema_file, "--n", 400, "--epsilon", "1", "--runs", 1)
    assert "people 50 % are treated\n" in call(*asked).out
    assert "people 12.5 % are treated\n" in call(*asked, "--treated", 0.125).out


def test_the_average_alone_has_no_single_effects(call, schema_file):
    out = call("plan", "--schema", schema_file, "--n", 400, "--epsilon", "1", "--learner", "average", "--runs", 1).out
    row = next(line.split() for line in out.splitlines() if line.split()[:1] == ["1"])
    assert row[1:3] == ["-", "-"]
    assert float(row[4]) > 0


def test_wrong_input_is_one_line(refused, schema_file):
    assert "between commas" in refused("plan", "--schema", schema_file, "--n", 10, "--epsilon", "one")
    assert "positive" in refused("plan", "--schema", schema_file, "--n", 10, "--epsilon", "0")
    assert "`n`" in refused("plan", "--schema", schema_file, "--n", 0, "--epsilon", "1")
    assert "`effect_sd`" in refused("plan", "--schema", schema_file, "--n", 9, "--epsilon", "1", "--effect-sd", "-1")
    assert "`treated`" in refused("plan", "--schema", schema_file, "--n", 9, "--epsilon", "1", "--treated", "0.01")
