"""What the feed does when shards are bad, slow or many."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from lineage.errors import IntegrityError, NotFound, Unavailable
from lineage.order import Order
from shardline.feed.ahead import Ahead
from shardline.feed.feed import ShardFeed
from shardline.feed.reader import ShardReader

Make = Callable[..., Any]


def flip_a_byte(source: Any, shard: int) -> None:
    path = source.path(shard)
    changed = bytearray(path.read_bytes())
    changed[120] ^= 1
    path.write_bytes(bytes(changed))


def feed_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "shardline-feed"]


@pytest.mark.parametrize("prefetch", [True, False])
def test_a_changed_byte_stops_the_feed_with_the_shards_name(sealed: Make, prefetch: bool) -> None:
    source = sealed()
    flip_a_byte(source, 4)
    with pytest.raises(IntegrityError, match="shard-00004"):
        list(ShardFeed(source, batch_size=8, prefetch=prefetch))
    assert not feed_threads()


def test_a_cut_shard_stops_the_feed_with_its_name(sealed: Make) -> None:
    source = sealed()
    source.path(2).write_bytes(source.path(2).read_bytes()[:-30])
    with pytest.raises(IntegrityError, match="shard-00002"):
        list(ShardFeed(source, batch_size=8))


def test_a_missing_shard_stops_the_feed_with_its_name(sealed: Make) -> None:
    source = sealed()
    source.path(3).unlink()
    with pytest.raises(NotFound, match="shard-00003 is missing"):
        list(ShardFeed(source, batch_size=8))


def test_a_shard_in_the_place_of_another_is_refused(sealed: Make) -> None:
    source = sealed()
    shutil.copyfile(source.path(0), source.path(3))
    with pytest.raises(IntegrityError, match="shard-00003"):
        list(ShardFeed(source, batch_size=8))


def test_a_shard_with_fewer_samples_than_the_version_says_is_refused(sealed: Make) -> None:
    source, other = sealed((13, 20)), sealed((13, 19))
    shutil.copyfile(other.path(1), source.path(1))
    with pytest.raises(IntegrityError, match=r"shard-00001: 19 samples .* has 20"):
        list(ShardFeed(source, batch_size=8))


def test_samples_of_another_width_are_refused(sealed: Make) -> None:
    source, other = sealed((13, 20)), sealed((13, 20), dtype="uint32")
    shutil.copyfile(other.path(1), source.path(1))
    with pytest.raises(IntegrityError, match="shard-00001"):
        list(ShardFeed(source, batch_size=8))


def test_a_disk_that_fails_is_unavailable_not_changed_bytes(sealed: Make) -> None:
    source = sealed()
    source.path(3).unlink()
    source.path(3).mkdir()
    with pytest.raises((Unavailable, IntegrityError), match="shard-00003"):
        list(ShardFeed(source, batch_size=8))


@pytest.mark.parametrize("harm", [flip_a_byte, lambda source, shard: source.path(shard).unlink()])
def test_a_bad_shard_is_fetched_again_and_no_sample_is_skipped(
    sealed: Make, harm: Callable[[Any, int], None]
) -> None:
    source = sealed()
    whole = [batch.input_ids.tolist() for batch in ShardFeed(source, batch_size=8)]
    source.cold = source.folder.with_name("cold")
    shutil.copytree(source.folder, source.cold)
    harm(source, 4)
    assert [batch.input_ids.tolist() for batch in ShardFeed(source, batch_size=8)] == whole


def test_a_shard_that_is_bad_on_every_tier_is_fetched_again_only_once(sealed: Make) -> None:
    source = sealed()
    flip_a_byte(source, 4)
    source.cold = source.folder.with_name("cold")
    shutil.copytree(source.folder, source.cold)
    with pytest.raises(IntegrityError, match="shard-00004"):
        list(ShardFeed(source, batch_size=8))
    assert source.opened.count(4) == 2


def test_what_was_given_before_a_bad_shard_stays_given_and_the_feed_goes_on_after(
    sealed: Make,
) -> None:
    source = sealed()
    whole = [batch.input_ids.tolist() for batch in ShardFeed(source, batch_size=8)]
    good = source.path(4).read_bytes()
    flip_a_byte(source, 4)
    feed, given = ShardFeed(source, batch_size=8), []
    with pytest.raises(IntegrityError):
        given += [batch.input_ids.tolist() for batch in feed]
    source.path(4).write_bytes(good)
    del given[:]
    at = feed.step
    given += [batch.input_ids.tolist() for batch in feed]
    assert given == whole[at:]


def test_a_tier_that_does_not_answer_ends_in_an_error_that_names_the_shard(sealed: Make) -> None:
    source = sealed()
    answer = threading.Event()
    opening = source.open_shard

    def slow(shard: int) -> pq.ParquetFile:
        answer.wait(20)
        return opening(shard)

    source.open_shard = slow
    feed = ShardFeed(source, batch_size=8, wait_s=0.2)
    threading.Timer(0.6, answer.set).start()
    with pytest.raises(Unavailable, match=r"waited 0\.2 s for position 0 of epoch 0, .*shard-000"):
        next(iter(feed))
    assert not feed_threads()
    assert len(list(feed)) == 9


def test_breaking_off_leaves_no_thread_and_no_open_file(sealed: Make) -> None:
    source = sealed()
    files: list[pq.ParquetFile] = []
    opening = source.open_shard

    def kept(shard: int) -> pq.ParquetFile:
        files.append(opening(shard))
        return files[-1]

    source.open_shard = kept
    for _ in islice(ShardFeed(source, batch_size=8), 3):
        pass
    assert not feed_threads()
    assert files
    assert all(file.closed for file in files)


def test_open_files_stay_within_two_groups_and_each_shard_opens_once_an_epoch(
    sealed: Make,
) -> None:
    source = sealed((9,) * 12)
    list(ShardFeed(source, batch_size=12))
    assert sorted(source.opened) == list(range(12))
    reader = ShardReader(source, open_files=4)
    reader.read(np.arange(12), np.zeros(12, dtype=np.int64))
    assert len(reader._open) == 4
    reader.close()


def test_only_the_row_groups_of_a_ranks_samples_are_read(sealed: Make) -> None:
    source = sealed()
    order = Order(source.segments, source.order_parameters, source.seed, 0)
    shards, rows = order.locate(np.array([0]))
    for other in {0, 2, 3, 4, 5} - {int(shards[0])}:
        source.path(other).unlink()
    samples = ShardFeed(source, batch_size=75, ranks=75, drop_last=False)
    assert next(iter(samples)).input_ids[0, 0] == shards[0] * 1000 + rows[0]


def test_work_that_fails_says_so_to_whoever_waits_for_it() -> None:
    def fails() -> None:
        raise NotFound("shard x is missing")

    for background in (True, False):
        with pytest.raises(NotFound, match="shard x"):
            Ahead(fails, str, background=background).result(5)


def test_a_process_ends_while_work_is_under_way() -> None:
    code = (
        "import time\n"
        "from shardline.feed.ahead import Ahead\n"
        "ahead = Ahead(lambda: time.sleep(0.5), str, background=True)\n"
    )
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=True, capture_output=True)
    assert (done.stderr, time.monotonic() - start < 30) == (b"", True)


def test_the_feed_imports_nothing_of_the_building_side() -> None:
    code = (
        "import sys, shardline.feed.feed, lineage.consumption\n"
        "heavy = {'prefect', 'dvc', 'duckdb', 'numba', 'tokenizers', 'torch', 'pipelines'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
