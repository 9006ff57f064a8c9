"""Files of web servers and object stores, on a web server and an object store of this machine."""

from __future__ import annotations

import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests import mapping
from tests.mapping import Done, run_map
from tests.processes import LIMIT, completed, started, until
from tests.test_map_resume import interrupted

pa = pytest.importorskip("pyarrow")
fsspec = pytest.importorskip("fsspec")
pytestmark = pytest.mark.extras

ROWS = b"x,name\n" + b"".join(f"{i / 7},row {i}\n".encode() for i in range(1, 20_000))


class Handler(http.server.SimpleHTTPRequestHandler):
    """A server of files that answers requests for ranges of bytes, but not below ``/whole``."""

    requested: ClassVar[list[str]] = []

    def log_message(self, format: str, *args: object) -> None: ...

    def do_GET(self) -> None:
        path, ranges = Path(self.translate_path(self.path.replace("/whole/", "/"))), self.headers.get("Range")
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", ranges or "")
        whole = "/whole/" in self.path
        if match and not whole:
            first, last = int(match[1]), min(int(match[2] or len(data) - 1), len(data) - 1)
            self.requested.append(f"{first}-{last}")
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            data = data[first : last + 1]
        else:
            self.send_response(200)
            if not whole:
                self.send_header("Accept-Ranges", "bytes")
        if not whole:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    do_HEAD = do_GET


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AUTODIFF_FORMAT", raising=False)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The address of a server of the files in this folder."""

    def handler(*arguments: Any) -> Handler:
        return Handler(*arguments, directory=str(tmp_path))

    Handler.requested.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The address of an object store with a bucket."""
    import moto.server as server_module

    server = server_module.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (
            ("AWS_ENDPOINT_URL", f"http://{host}:{port}"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
        ):
            patch.setenv(name, value)
        import s3fs

        s3fs.S3FileSystem.clear_instance_cache()
        system = s3fs.S3FileSystem()
        system.mkdir("bucket")
        yield "s3://bucket"
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


AZURITE = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # its documented key
EMULATORS = {
    "gs": ([sys.executable, "-m", "gcp_storage_emulator", "start", "--in-memory", "--port"], "STORAGE_EMULATOR_HOST", "http://{0}"),
    "az": (
        ["azurite-blob", "--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--blobPort"],
        "AZURE_STORAGE_CONNECTION_STRING",
        f"AccountName=devstoreaccount1;AccountKey={AZURITE};BlobEndpoint=http://{{0}}/devstoreaccount1",
    ),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the libraries send large bodies as bytes, and leave sessions open
@pytest.mark.parametrize("scheme", EMULATORS)
def test_emulators_of_other_stores(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command, setting, value = EMULATORS[scheme]
    pytest.importorskip("gcsfs" if scheme == "gs" else "adlfs")
    if shutil.which(command[0]) is None:
        pytest.skip("Azurite is not a Python package: npm install -g azurite")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv(setting, value.format(f"localhost:{port}"))
    with subprocess.Popen([*command, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            until(lambda: socket.socket().connect_ex(("localhost", port)) == 0)
            fsspec.filesystem(scheme).mkdir("bucket")
            right = run_map("x**2", stdin=ROWS).out
            assert run_map("x**2", "-o", f"{scheme}://bucket/out.csv", stdin=ROWS).code == 0
            assert run_map("value", f"{scheme}://bucket/*.csv", "-q").out == run_map("value", "-q", stdin=right).out
            assert run_map("x", f"{scheme}://bucket/out.csv", "--no-keep", "-o", f"{scheme}://bucket/folder/").code == 0
            assert run_map("v = value; v,", f"{scheme}://bucket/folder", "-o", f"{scheme}://bucket/a.parquet").code == 0
            assert run_map("v", f"{scheme}://bucket/a.parquet", "-q").out == run_map("x", "-q", stdin=right).out
            refused(f"cannot read '{scheme}://bucket/none.csv'", "x", f"{scheme}://bucket/none.csv")
        finally:
            server.terminate()


def refused(message: str, *arguments: Any, code: int = 5) -> Done:
    """A run that ends soon with one error of one line."""
    begun = time.perf_counter()
    done = mapping.refused(code, message, *arguments, stdin=ROWS)
    assert time.perf_counter() - begun < 60
    return done


@pytest.mark.parametrize("folder", ["", "whole/"])
def test_files_of_a_web_server(web: str, folder: str) -> None:
    import gzip

    Path("rows.csv").write_bytes(ROWS)
    Path("rows.csv.gz").write_bytes(gzip.compress(ROWS))
    right = run_map("x**2", "rows.csv").out
    assert run_map("x**2", f"{web}/{folder}rows.csv").out == right
    assert run_map("x**2", f"{web}/{folder}rows.csv?token=a.b").out == right
    assert run_map("x**2", f"{web}/{folder}rows.csv.gz").out == right


def test_only_the_needed_columns_of_parquet_are_requested(web: str) -> None:
    from pyarrow import parquet

    rows = 200_000
    table = pa.table({"x": [i / 7 for i in range(rows)], "text": [f"{i * 7919 % 100_003} of {i}" for i in range(rows)]})
    parquet.write_table(table, "rows.parquet")
    arguments = ("--no-keep", "-o", "out.parquet")
    assert run_map("x**2", f"{web}/rows.parquet", *arguments).code == 0
    assert parquet.read_table("out.parquet")["value"].to_pylist()[:2] == [0.0, (1 / 7) ** 2]
    spans = [tuple(map(int, each.split("-"))) for each in Handler.requested]
    assert sum(last - first + 1 for first, last in spans) < Path("rows.parquet").stat().st_size


def test_errors_of_a_web_server(web: str) -> None:
    refused("the file or folder does not exist", "x", f"{web}/none.csv")
    refused("cannot read 'http://127.0.0.1:9/rows.csv'", "x", "http://127.0.0.1:9/rows.csv")
    done = refused("a web server can only be read", "x", "-o", f"{web}/out.csv")
    assert "hint: write to a file, s3://, gs:// or az://" in done.err
    refused("unknown scheme 'ftp'", "x", "ftp://host/rows.csv", code=2)


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "arrow", "csv.gz"])
def test_objects_in_and_out(store: str, form: str) -> None:
    Path("rows.csv").write_bytes(ROWS)
    assert run_map("x**2", "rows.csv", "-o", f"local.{form}").code == 0
    assert run_map("x**2", "rows.csv", "-o", f"{store}/a/one.{form}").code == 0
    again = run_map("v = 2*x; v,", f"{store}/a/one.{form}")
    assert again.out == run_map("v = 2*x; v,", f"local.{form}").out
    assert again.code == 0


def test_folders_and_patterns_of_objects(store: str) -> None:
    for year in (2024, 2025):
        assert run_map("x", "-o", f"{store}/years/year={year}/part.csv", stdin=f"x\n{year}\n".encode()).code == 0
    found = run_map("v = x*year; v,", f"{store}/years", "--wrt", "x").text
    assert found.splitlines()[0] == "x,value,d_x,year,v,d_v_x"
    assert [line.split(",")[4] for line in found.splitlines()[1:]] == [str(2024.0**2), str(2025.0**2)]
    one = run_map("v = x; v,", f"{store}/years/*/part.csv").text
    assert [line.split(",")[0] for line in one.splitlines()[1:]] == ["2024", "2025"]


def test_errors_of_an_object_store(store: str) -> None:
    refused("the file or folder does not exist", "x", f"{store}/none.csv")
    refused("cannot read 's3://no-such-bucket/rows.csv'", "x", "s3://no-such-bucket/rows.csv")
    refused("cannot write 's3://no-such-bucket/out.csv'", "x", "-o", "s3://no-such-bucket/out.csv")


def test_an_output_that_fails_does_not_appear(store: str) -> None:
    import s3fs

    done = run_map("x", "-o", f"{store}/broken.csv", stdin=ROWS + b"no,number\n")
    assert done.code == 5
    assert not s3fs.S3FileSystem().exists("bucket/broken.csv")


# Folders of objects


def names(folder: str) -> list[str]:
    import s3fs

    found: list[str] = s3fs.S3FileSystem(use_listings_cache=False).find(folder)
    return found


def objects(folder: str) -> dict[str, bytes]:
    import s3fs

    return {name.rpartition("/")[2]: s3fs.S3FileSystem().cat_file(name) for name in names(folder)}


def local(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


SMALL = ("--partition-bytes", 66_000)


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "npy", "csv.gz"])
def test_a_folder_of_objects(store: str, form: str) -> None:
    Path("rows.csv").write_bytes(ROWS)
    keep = ("--no-keep",) if form == "npy" else ()
    assert run_map("x**2", "rows.csv", "-o", f"out/*.{form}", *SMALL, *keep).code == 0
    assert run_map("x", "rows.csv", "-o", f"{store}/rows.csv").code == 0
    import s3fs

    s3fs.S3FileSystem().pipe_file(f"{store}/rows.csv", ROWS)
    done = run_map("x**2", f"{store}/rows.csv", "-o", f"{store}/out/*.{form}", *SMALL, *keep)
    assert (done.code, done.err) == (0, "")
    found = {name: data for name, data in objects(f"{store}/out").items() if name.endswith(f".{form}")}
    assert found == local("out")
    assert len(found) > 5
    assert "already has files" in run_map("x**2", f"{store}/rows.csv", "-o", f"{store}/out/*.{form}").err


def test_a_run_into_an_object_store_is_continued(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("rows.csv").write_bytes(ROWS)
    arguments = ("x**2", "rows.csv", *SMALL, "--threads", 1)
    assert run_map(*arguments, "-o", "right/").code == 0
    target = f"{store}/continued/"
    interrupted(monkeypatch, *arguments, "-o", target)
    kinds = [name.rpartition(".")[2] for name in objects(target)]
    assert sorted(kinds) == ["csv", "csv", "done", "done", "json"]
    assert "unfinished run" in run_map(*arguments, "-o", target).err
    assert "the expression has changed" in run_map("x", *arguments[1:], "-o", target, "--resume").err
    done = run_map(*arguments, "-o", target, "--resume")
    assert (done.code, done.err) == (0, "")
    assert objects(target) == local("right")


def test_an_object_that_has_changed(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    system, path = s3fs.S3FileSystem(), f"{store}/changing.csv"
    system.pipe_file(path, ROWS)
    interrupted(monkeypatch, "x", path, "-o", "out/", *SMALL, "--threads", 1)
    system.pipe_file(path, ROWS.replace(b"row 7", b"row 8"))
    done = run_map("x", path, "-o", "out/", *SMALL, "--threads", 1, "--resume")
    assert (done.code, f"'{path}' has changed" in done.err) == (5, True)


def test_a_bad_row_leaves_no_objects(store: str) -> None:
    Path("bad.csv").write_bytes(ROWS + b"no,number\n")
    assert run_map("x", "bad.csv", "-o", f"{store}/bad/", *SMALL).code == 5
    assert objects(f"{store}/bad") == {}


def test_workers_that_share_only_an_object_store(store: str) -> None:
    """A worker and the client are killed; the other one and a second client go on."""
    from autodiff_cli.data.parts import scheduler

    slow = "inv([[x + 1, 1], [1, 3]]).sum()"
    Path("rows.csv").write_bytes(ROWS[: ROWS.index(b"row 2400") + len(b"row 2400\n")])
    right = run_map(slow, "rows.csv", "-o", "right/", "--partition-bytes", 2_200)
    import s3fs

    s3fs.S3FileSystem().put_file("rows.csv", f"{store}/some.csv")
    command = [sys.executable, "-m", "autodiff_cli", "map", slow, f"{store}/some.csv", "-o", f"{store}/shared/"]
    with scheduler.local_cluster(2) as cluster:
        command += ["--partition-bytes", "2200", "--engine", cluster.scheduler_address]
        with started(command) as process:
            until(lambda: len(names(f"{store}/shared")) > 6)
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
            until(lambda: len(names(f"{store}/shared")) > 12)
            process.kill()
            assert process.wait(LIMIT) == -signal.SIGKILL
        assert len(names(f"{store}/shared")) < 2 * len(local("right"))
        done = completed([*command, "--resume"])
    assert (right.code, done.returncode, done.stderr) == (0, 0, right.err)
    assert objects(f"{store}/shared") == local("right")
