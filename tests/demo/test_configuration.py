"""Ini files that oslo.config reads back as they were meant."""

from pathlib import Path

from oslo_config import cfg

from evenkeel.demo.configuration import format_ini, merge_sections


def test_oslo_config_reads_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "x.ini"
    text = format_ini(
        {"DEFAULT": {"url": "amqp://u:p$1@h/", "hosts": ["a:1", "b:2"], "left_out": None}, "api": {"open": True}}
    )
    file.write_text(text)
    conf = cfg.ConfigOpts()
    conf.register_opts([cfg.StrOpt("url"), cfg.ListOpt("hosts"), cfg.StrOpt("left_out", default="default")])
    conf.register_opts([cfg.BoolOpt("open")], group="api")
    conf(["--config-file", str(file)], project="test")
    assert (conf.url, conf.hosts, conf.left_out, conf.api.open) == ("amqp://u:p$1@h/", ["a:1", "b:2"], "default", True)


def test_later_layers_win_option_by_option() -> None:
    assert merge_sections({"a": {"x": 1, "y": 1}}, {"a": {"y": 2}, "b": {"z": 3}}) == {
        "a": {"x": 1, "y": 2},
        "b": {"z": 3},
    }
