"""Files from a server on loopback: whole, cut off, altered, too large, gone."""

import hashlib
import socket

import numpy as np
import pytest

from mercer.datasets import DownloadError, download

CONTENT = np.random.default_rng(0).bytes(5_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def url(server):
    server.files["/set.csv"] = CONTENT
    return f"{server.address}/set.csv"


def test_a_file_is_downloaded_once(server, url, tmp_path):
    path = tmp_path / "deep" / "set.csv"
    assert download(url, path, sha256=DIGEST) == path
    assert path.read_bytes() == CONTENT
    download(url, path, sha256=DIGEST)
    assert len(server.asked) == 1
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_changed_on_disk_is_downloaded_again(url, tmp_path):
    path = tmp_path / "set.csv"
    path.write_bytes(b"x")
    download(url, path, sha256=DIGEST)
    assert path.read_bytes() == CONTENT


def test_a_connection_that_breaks_is_taken_up_where_it_broke(server, url, tmp_path):
    server.breaks = 2
    download(url, tmp_path / "set.csv", sha256=DIGEST)
    assert (tmp_path / "set.csv").read_bytes() == CONTENT
    assert [asked for _, asked in server.asked] == [None, "bytes=1000-", "bytes=2000-"]


def test_what_was_had_is_kept_for_the_next_time(server, url, tmp_path):
    server.breaks = 3
    with pytest.raises(DownloadError, match=r"after 3,000 bytes\. Try again to go on"):
        download(url, tmp_path / "set.csv", sha256=DIGEST)
    assert not (tmp_path / "set.csv").exists()
    download(url, tmp_path / "set.csv", sha256=DIGEST)
    assert server.asked[-1][1] == "bytes=3000-"
    assert (tmp_path / "set.csv").read_bytes() == CONTENT


def test_a_server_without_ranges_begins_again(server, url, tmp_path):
    server.breaks, server.ranges = 1, False
    download(url, tmp_path / "set.csv", sha256=DIGEST)
    assert (tmp_path / "set.csv").read_bytes() == CONTENT


def test_an_interrupt_keeps_what_was_had(server, url, tmp_path, monkeypatch):
    server.breaks = 1

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        download(url, tmp_path / "set.csv", sha256=DIGEST)
    assert (tmp_path / "set.csv.part").read_bytes() == CONTENT[:1000]


def test_a_complete_part_is_not_asked_for_more(server, url, tmp_path):
    (tmp_path / "set.csv.part").write_bytes(CONTENT)
    download(url, tmp_path / "set.csv", sha256=DIGEST)
    assert (tmp_path / "set.csv").read_bytes() == CONTENT


def test_an_altered_file_is_refused_and_thrown_away(server, url, tmp_path):
    server.files["/set.csv"] = CONTENT[:-1] + b"?"
    with pytest.raises(DownloadError, match="not the file that was expected"):
        download(url, tmp_path / "set.csv", sha256=DIGEST)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("says_length", [True, False])
def test_a_file_that_is_too_large_is_refused(server, url, tmp_path, says_length):
    server.says_length = says_length
    with pytest.raises(DownloadError, match="4,000"):
        download(url, tmp_path / "set.csv", most=4_000)
    assert not (tmp_path / "set.csv").exists()


def test_a_file_that_is_gone(server, tmp_path):
    with pytest.raises(DownloadError, match="answers 404"):
        download(f"{server.address}/other.csv", tmp_path / "set.csv")
    assert len(server.asked) == 1


def test_without_a_network_there_is_a_sentence(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1 cannot be reached.*MERCER_DATA"):
        download(f"http://127.0.0.1:{port}/set.csv", tmp_path / "set.csv")


def test_only_addresses_of_the_web(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    with pytest.raises(DownloadError, match="not an address of the web"):
        download(secret.as_uri(), tmp_path / "set.csv")


def test_progress_counts_bytes_and_ends(url, tmp_path, capsys):
    download(url, tmp_path / "set.csv", verbose=True)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("set.csv: 100%|")
    assert "5.00k/5.00k [" in last
