"""Paths that are checked beforehand, and files that are replaced atomically."""

import os
from pathlib import Path

import numpy as np
import pytest

from graphgate.errors import InputError
from graphgate.io.embeddings import write_embedding
from graphgate.io.files import check_folder, check_new_folder, check_output_path, read_json
from graphgate.io.numpy_files import read_npz
from graphgate.io.parquet_reader import ParquetTable

Z = np.array([[0.1, 2, -3], [4, 5e-20, 6]])


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").touch()
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_embedding(tmp_path / "link.csv", [1, 2], Z)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("node_id")


def test_a_path_that_cannot_be_written_is_refused_beforehand(tmp_path):
    (tmp_path / "dir.csv").mkdir()
    (tmp_path / "file").touch()
    kinds = (".parquet", ".csv")
    assert check_output_path(str(tmp_path / "z.CSV"), kinds) == tmp_path / "z.CSV"
    for path, words in [
        ("z.txt", r"must end in \.parquet or \.csv"),
        ("z", r"must end in \.parquet or \.csv"),
        (".csv", r"must end in"),
        ("dir.csv", r"is a folder"),
        ("absent/z.csv", r"absent does not exist"),
        ("file/z.csv", r"file is not a folder"),
    ]:
        with pytest.raises(InputError, match=words):
            check_output_path(tmp_path / path, kinds)
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "astray.csv").symlink_to("absent/z.csv")
    for path, words in [
        ("pipe.csv", "is a pipe or a device"),
        ("loop.csv", "Too many levels of symbolic links"),
        ("astray.csv", "does not exist"),
        ("x" * 252 + ".csv", "File name too long"),
        ("caf\udce9.csv", r"caf\\udce9.csv cannot be written: its name is not UTF-8"),
        ("zero\0.csv", r"zero\\x00.csv cannot be written"),
    ]:
        with pytest.raises(InputError, match=words):
            check_output_path(tmp_path / path, kinds)
    with pytest.raises(InputError, match=r"must end in \.html"):
        check_output_path(tmp_path / "z.csv", [".html"])


def test_a_folder_without_permission_is_refused_beforehand(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # the suite may run as root
    with pytest.raises(InputError, match="no permission"):
        check_output_path(tmp_path / "z.csv", [".csv"])


def test_an_existing_folder_is_not_overwritten(tmp_path):
    assert check_new_folder(tmp_path / "new") == tmp_path / "new"
    with pytest.raises(InputError, match="already exists"):
        check_new_folder(tmp_path)
    with pytest.raises(InputError, match="absent does not exist"):
        check_new_folder(tmp_path / "absent" / "new")
    with pytest.raises(InputError, match="File name too long"):
        check_new_folder(tmp_path / ("x" * 256))
    with pytest.raises(InputError, match="not UTF-8"):
        check_new_folder(tmp_path / "caf\udce9")


def test_a_folder_that_cannot_be_created_is_refused_beforehand(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for path in ("", "new", "new/newer/newest"):
        assert check_folder(tmp_path / path) == tmp_path / path
    assert os.listdir(tmp_path) == ["file"]
    for path, words in [
        ("file", "file is not a folder"),
        ("file/new", "file is not a folder"),
        ("x" * 256, "File name too long"),
    ]:
        with pytest.raises(InputError, match=words):
            check_folder(tmp_path / path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="no permission to write"):
        check_folder(tmp_path / "new" / "newer")


def test_json(tmp_path):
    path = tmp_path / "run.json"
    for content, words in [
        (b"{", "the run: it is not JSON"),
        (b"[NaN]", "the run: it is not JSON"),
        (b"\xff", "the run: it is not JSON"),
        (b"[" * 100_000, "the run: it is not JSON"),
    ]:
        path.write_bytes(content)
        with pytest.raises(InputError, match=words):
            read_json(path, "the run")
    path.write_text('{"a": [1, "é"]}')
    assert read_json(path, "the run") == {"a": [1, "é"]}
    with pytest.raises(InputError, match="is a folder; pass a file in it"):
        read_json(tmp_path, "the run")


@pytest.mark.parametrize("read", [lambda path: read_json(path, "it"), read_npz, ParquetTable])
def test_a_file_that_may_not_be_read(tmp_path, monkeypatch, read):
    def refuse(*_, **__):  # the suite may run as root
        raise PermissionError(13, "Permission denied")

    (tmp_path / "file").write_bytes(b"PAR1")
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr("pyarrow.parquet.ParquetFile", refuse)
    with pytest.raises(InputError, match=r"file cannot be read( as Parquet)?: Permission denied"):
        read(tmp_path / "file")
