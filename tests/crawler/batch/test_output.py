"""The output folder: complete files only, locks, and rows on their way between stages."""

import pickle

import numpy as np
import pytest

from crawler.batch.output import OutputFolder, partition_names, read_partition, spread, write_partitions
from crawler.errors import BatchError

ROW = np.dtype([("key", "<i8"), ("value", "<i4")])


@pytest.fixture(params=["local", "memory"])
def output(request, tmp_path):
    """A local folder, and a store of objects."""
    return OutputFolder(str(tmp_path) if request.param == "local" else f"memory://{tmp_path.name}/out")


def test_a_file_appears_when_it_is_complete(output):
    with output.create("pages/a") as file:
        file.write(b"one")
        assert not output.exists("pages/a")
    with output.open("pages/a") as file:
        assert file.read() == b"one"
    assert output.names("pages") == ["a"]


def test_an_error_leaves_no_file(output):
    with pytest.raises(ZeroDivisionError), output.create("pages/a"):
        raise ZeroDivisionError
    assert output.names("pages") == []


def test_a_missing_file_and_a_damaged_one_are_named(output):
    with pytest.raises(BatchError, match="has no file a that can be read"):
        output.open("a")
    for content, words in ((b"{", "is damaged"), (b"[]", "holds no object")):
        with output.create("a") as file:
            file.write(content)
        with pytest.raises(BatchError, match=words):
            output.read_json("a")


def test_unfinished_files_are_removed(tmp_path):
    (tmp_path / ".blocksieve-batch-1.part").touch()
    output = OutputFolder(str(tmp_path))
    output.remove_abandoned()
    assert output.is_empty()


def test_a_folder_is_the_same_in_another_process(output):
    output.write_json("job", {"files": 2})
    copy = pickle.loads(pickle.dumps(output))
    assert copy.read_json("job") == {"files": 2}


def test_a_locked_folder_is_refused_to_another_job(tmp_path):
    output = OutputFolder(str(tmp_path))
    output.write_json("job", {})
    with output.locked("job"), pytest.raises(BatchError, match="another job is writing to"), output.locked("job"):
        pass


def test_each_row_arrives_in_its_partition_once_and_in_order(output):
    rows = np.array([(number % 7, number) for number in range(100)], ROW)
    partitions = spread([rows["key"]], 3)
    names = partition_names("send", 2)
    write_partitions(output, names[0], rows[:60], partitions[:60], 3)
    write_partitions(output, names[1], rows[60:], partitions[60:], 3)
    received = [read_partition(output, names, partition, ROW) for partition in range(3)]
    assert sorted(np.concatenate(received)["value"].tolist()) == list(range(100))
    for part in received:
        assert part["value"].tolist() == sorted(part["value"].tolist())
    keys = [set(part["key"].tolist()) for part in received]
    assert sum(map(len, keys)) == 7


def test_a_partition_of_no_rows_is_empty(output):
    write_partitions(output, "work/a/1", np.empty(0, ROW), np.empty(0, np.int64), 2)
    assert len(read_partition(output, ["work/a/1"], 1, ROW)) == 0
