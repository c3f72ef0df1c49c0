from console.runner import logs


def test_a_long_log_is_put_aside_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "ROTATE_AT", 10)
    (tmp_path / "web.log").write_text("more than ten bytes\n")
    assert not logs.log_path(tmp_path, "web").exists()
    assert (tmp_path / "web.log.1").read_text() == "more than ten bytes\n"


def test_a_short_log_goes_on(tmp_path):
    (tmp_path / "web.log").write_text("short\n")
    assert logs.log_path(tmp_path, "web").read_text() == "short\n"


def test_the_tail_leaves_out_empty_lines_and_bears_any_bytes(tmp_path):
    (tmp_path / "web.log").write_bytes(b"one\n\ntwo\n\xff three\n\n")
    assert logs.tail(tmp_path / "web.log", 2) == ["two", "\ufffd three"]
    assert logs.tail(tmp_path / "none.log", 2) == []
