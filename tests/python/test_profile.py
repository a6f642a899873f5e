"""mbirk.profile: tables of a run, from a file that is written here. The module needs no build, so it is loaded by its
path."""
import importlib.util
import json
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "python" / "mbirk" / "profile.py"
spec = importlib.util.spec_from_file_location("mbirk_profile", SOURCE)
profile = importlib.util.module_from_spec(spec)
spec.loader.exec_module(profile)

RUN = {
    "measurements": [{"operation": "x", "volume_size": 8, "run": 3, "time": 0.5,
                      "samples": [{"time": 0.5}, {"time": 0.6}]}],
    "cost_analysis": {"8": {"x": {"flops": 10, "source": "counted", "memory": {"peak": 7}, "stages": []}}},
    "reconstructions": {"cone_mbir_recon": {"size": 8, "iterations": 15,
                                            "stages": [{"stage": "a", "seconds": 1.0, "share": 1.0}]}},
    "candidates": {
        "plan": {"headline": "h"},
        "operations": [{"operation": "x", "size": 8, "verdict": "not a candidate", "columns": {
            "host": {"kind": "host", "device": "cpu", "seconds": [1, 2, 3], "transfer seconds": 0, "joules": 60,
                     "source": "measured"},
            "gpu": [], "fpga": []}}]},
}


def write(folder, name, content):
    (folder / name).write_text(content)


def test_tables_of_the_newest_run(tmp_path):
    write(tmp_path, "mbirk_profile_20250101_000000_000.json", "{}")
    write(tmp_path, "mbirk_profile_20260101_000000_000.json", json.dumps(RUN))
    p = profile.read(tmp_path)
    assert [s["time"] for s in p.sample_rows()] == [0.5, 0.6]
    assert p.count_rows() == [{"operation": "x", "volume_size": 8, "source": "counted", "flops": 10, "memory peak": 7}]
    (row,) = p.column_rows()
    assert (row["seconds low"], row["seconds"], row["seconds high"], row["joules"]) == (1, 2, 3, 60)
    assert p.stage_rows()[0]["iterations"] == 15
    assert p.plan()["headline"] == "h"


def test_frames(tmp_path):
    pytest.importorskip("pandas")
    write(tmp_path, "mbirk_profile_1.json", json.dumps(RUN))
    p = profile.read(tmp_path)
    assert list(p.measurements()["time"]) == [0.5]
    assert list(p.columns()["device"]) == ["cpu"]


def test_one_line_for_each_mistake(tmp_path):
    with pytest.raises(FileNotFoundError, match="has no mbirk_profile"):
        profile.read(tmp_path)
    write(tmp_path, "a.json", "{")
    with pytest.raises(ValueError, match="is not valid JSON"):
        profile.read(tmp_path / "a.json")
    write(tmp_path, "a.json", "{}")
    with pytest.raises(ValueError, match="measurements is missing"):
        profile.read(tmp_path / "a.json")
