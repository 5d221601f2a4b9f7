"""Host captures: independent readings of the fixtures, clocks, cut ends, damage."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loganalyze.formats import vmstat, vmstat_rows
from loganalyze.formats.capture import Block, Segment
from loganalyze.formats.capture_reader import read_captures
from loganalyze.formats.zones import offset_seconds, zone_offset
from loganalyze.model.records import Capture, Source
from loganalyze.scan import open_source

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "telemetry"
HOST = re.compile(r"(?:vmstat|free|time|locale|sysstat|proc|other|made|h200|case)-.*(?<!\.json)\Z")
FILES = sorted(p for p in FOLDER.iterdir() if HOST.match(p.name) or p.name.endswith(("rWS.json", "12.7.5.json")))


def read(data: bytes, name: str = "x.txt") -> tuple[list[Capture], Source]:
    with open_source(data, name) as opened:
        return read_captures(opened), opened.source


def text(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


VMSTAT = [p for p in FILES if re.match(r"vmstat-[34][^S]*\.txt\Z|case-.*vmstat", p.name) and "-s.txt" not in p.name]


@pytest.mark.parametrize("path", [p for p in VMSTAT if not p.name.endswith("-d.txt")], ids=lambda p: p.name)
def test_vmstat_rows_agree_with_a_plain_split(path: Path) -> None:
    captures, _ = read(path.read_bytes())
    (capture,) = captures
    frame = capture.frame
    assert frame is not None
    frozen = any("never change" in n for n in capture.notes)
    lines = path.read_text(encoding="utf-8").split("\n")
    rows = [(i, x.split()) for i, x in enumerate(lines, 1) if x.split() and x.split()[0].isdigit()]
    assert frame["line"].to_list() == [i for i, _ in rows]
    for at, (row, (_, cells)) in enumerate(zip(frame.iter_rows(named=True), rows, strict=True)):
        if not frozen or at == 0:
            assert row["swap_used_mib"] == int(cells[2]) / 1024
            assert row["ram_free_mib"] == int(cells[3]) / 1024
        else:
            assert row["ram_free_mib"] is None
        assert (row["swap_in_kib_s"], row["swap_out_kib_s"]) == (int(cells[6]), int(cells[7]))
        assert (row["block_in_kib_s"], row["block_out_kib_s"]) == (int(cells[8]), int(cells[9]))
        assert (row["cpu_idle_pct"], row["cpu_wait_pct"]) == (int(cells[14]), int(cells[15]))


def test_vmstat_frozen_columns_only_in_the_version_that_has_them() -> None:
    for version, frozen in (("3.3.17", False), ("4.0.2", True), ("4.0.4", False), ("4.0.7", False)):
        (capture,), _ = read(text(f"vmstat-{version}-t-30rows-alloc.txt"))
        assert any("never change" in n for n in capture.notes) is frozen


def test_vmstat_starts_appended_to_one_file_are_apart() -> None:
    once = text("vmstat-4.0.7.txt")
    captures, _ = read(once * 3)
    assert [c.frame.height for c in captures if c.frame is not None] == [3, 3, 3]
    assert all(c.first_row_since_boot for c in captures)


def test_vmstat_headings_that_come_in_turn_are_no_starts() -> None:
    lines = text("case-swap_nommap_8b_4-vmstat.txt")
    captures, _ = read(lines)
    assert [c.frame.height for c in captures if c.frame is not None] == [69]


def test_vmstat_other_options_in_the_same_file() -> None:
    captures, source = read(text("vmstat-3.3.17-t.txt") + text("vmstat-4.0.7-a.txt") + text("vmstat-3.3.17-w.txt"))
    assert [c.frame.height for c in captures if c.frame is not None] == [3, 2, 3]
    assert source.unmatched == 0


def test_vmstat_pieces_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    data = text("case-swap_nommap_8b_4-vmstat_t.txt") * 40
    whole = vmstat.parse(Segment(Source("x"), data=data))
    monkeypatch.setattr(vmstat_rows, "PIECE", 3000)
    segment = Segment(Source("x"))
    middle = data.index(b"\n", len(data) // 2) + 1
    segment.stream = [Block(data[:middle], 1), Block(data[middle:], data[:middle].count(b"\n") + 1)]
    parts = vmstat.parse(segment)
    assert len(parts) == len(whole) == 40
    for a, b in zip(whole, parts, strict=True):
        assert a.frame is not None
        assert b.frame is not None
        assert a.frame.equals(b.frame)


def test_vmstat_rejects_rows_that_are_not_whole() -> None:
    lines = text("vmstat-4.0.7.txt").split(b"\n")
    lines[3] = lines[3][:40]
    captures, source = read(b"\n".join(lines))
    assert captures[0].frame is not None
    assert captures[0].frame["line"].to_list() == [3, 5]
    assert source.unmatched == 1


@pytest.mark.parametrize(
    ("printed", "offset"),
    [
        ("UTC", "UTC"),
        ("CEST", "+02:00"),
        ("+0545", "+05:45"),
        ("-03", "-03:00"),
        ("CST", None),
        ("IST", None),
        ("Q", None),
    ],
)
def test_zones(printed: str, offset: str | None) -> None:
    found, note = zone_offset(printed)
    assert found == offset
    assert (note is None) is (offset is not None)


def test_zone_seconds() -> None:
    assert [offset_seconds(z) for z in ("UTC", None, "+05:45", "-03:00")] == [0, 0, 20700, -10800]


def test_ambiguous_zone_is_said_and_not_used() -> None:
    (capture,), _ = read(text("vmstat-4.0.7-t.txt").replace(b"UTC", b"CST"))
    assert capture.clock.zone is None
    assert any("ambiguous" in n for n in capture.notes)
    assert capture.facts["zone_abbreviation"] == "CST"


def test_small_machine_in_mib_is_not_terabytes() -> None:
    head = "               total        used        free      shared  buff/cache   available\n"
    (capture,), _ = read(
        (head + "Mem:            3793         812        1240          88        1741        2800\n").encode()
    )
    assert capture.facts["ram_total_mib"] == 3793


def test_free_command_line_tells_the_unit() -> None:
    (capture,), _ = read(b"$ free -g\n" + text("free-4.0.7-g.txt"))
    assert capture.facts["ram_total_mib"] == 23 * 1024


def test_free_loop_takes_the_interval_of_its_command() -> None:
    (capture,), _ = read(b"$ free -s 2 -c 3\n" + text("free-4.0.7-s1-c3.txt"))
    assert (capture.clock.kind, capture.clock.interval_s) == ("interval", 2.0)


def test_meminfo_without_times_tells_growth_but_no_rate() -> None:
    lines = [x for x in text("made-30_meminfo_loop_with_epoch.txt").split(b"\n") if not x.isdigit()]
    (capture,), _ = read(b"\n".join(lines))
    assert capture.frame is not None
    assert capture.frame["swap_in_kib_s"].null_count() == 4
    assert capture.facts["swapped_in_mib"] == (122274 - 104212) * 4 / 1024


def test_meminfo_counter_that_falls_is_no_rate() -> None:
    data = text("made-30_meminfo_loop_with_epoch.txt").replace(b"pswpin 114514", b"pswpin 14")
    (capture,), _ = read(data)
    assert capture.frame is not None
    assert capture.frame["swap_in_kib_s"].to_list()[2] is None
    assert "swapped_in_mib" not in capture.facts


def test_killed_run_does_not_look_successful() -> None:
    for name in ("time-gnu-time-v-killed.txt", "time-gnu-time-default-killed.txt"):
        (capture,), _ = read(text(name))
        assert (capture.facts["signal"], capture.facts["exit_status"]) == (9, 137)


def test_four_numbers_are_times_only_if_they_add_up() -> None:
    assert read(b"0.267 0.167 0.086 94.73\n")[0][0].facts["wall_s"] == 0.267
    assert read(b"0.267 0.167 0.086 12.00\n")[0] == []


def test_numbers_too_long_to_be_one_are_left_out() -> None:
    long = b"9" * 400
    assert all("wall_s" not in c.facts for c in read(b"real\t" + long + b"m2.1s\nuser\t0m1.0s\n")[0])
    assert read(b"real\t1m2.1s\n")[0][0].facts == {"wall_s": 62.1}
    captures, _ = read(b"Command terminated by signal " + long + b"\nreal 1.5\n")
    assert captures[-1].facts == {"wall_s": 1.5}
    read(text("free-4.0.7.txt").replace(b"24683656", long))
    read(text("time-gnu-time-default.txt").replace(b"44092", long))


def same_or_unknown(found: Any, whole: Any) -> bool:
    return found is None or found == whole


STEADY = [
    "vmstat-4.0.7-t.txt", "vmstat-3.3.17.txt", "made-24_vmstat_3x_t_swapping.txt", "case-swap_nommap_8b_4-free.txt",
    "free-4.0.7-s1-c3.txt", "made-30_meminfo_loop_with_epoch.txt", "sysstat-sar-r.txt", "sysstat-sar-W-enUS.txt",
    "sysstat-iostat-x.txt", "other-dool-tcmsgdn.csv", "time-bash-p.txt", "time-gnu-time-v.txt", "proc-meminfo.txt",
    "sysstat-sadf-d-T-r.txt",
]  # fmt: skip


@pytest.mark.parametrize("name", STEADY)
def test_cut_anywhere_never_invents_a_figure(name: str) -> None:
    """A prefix gives the figures of the whole, or none; never another one."""
    data = text(name)
    whole, _ = read(data)
    rows: dict[int, dict[str, Any]] = {}
    for capture in whole:
        if capture.frame is not None:
            rows |= {r["line"]: r for r in capture.frame.iter_rows(named=True)}
    facts = [c.facts for c in whole]
    for end in sorted(set(random.Random(name).sample(range(1, len(data)), min(60, len(data) - 1)))):
        captures, source = read(data[:end])
        assert source.lines == source.matched + source.unmatched + source.skipped
        for capture in captures:
            for row in capture.frame.iter_rows(named=True) if capture.frame is not None else ():
                wrong = {k: v for k, v in row.items() if not same_or_unknown(v, rows[row["line"]].get(k))}
                assert not wrong, (end, data[max(0, end - 60) : end], wrong)
            if capture.kind == "time":
                assert all(v == facts[0].get(k) for k, v in capture.facts.items()), (end, data[:end][-40:])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damage_never_crashes_and_is_counted(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from([p.name for p in FILES]), min_size=1, max_size=3))
    joined = b"".join(text(n) for n in names)
    lines = joined.split(b"\n")
    how = data.draw(st.sampled_from(["cut", "shuffle", "drop", "noise", "utf-16", "crlf", "cells"]))
    if how == "cut":
        joined = joined[: data.draw(st.integers(0, len(joined)))]
    elif how == "shuffle":
        data.draw(st.randoms(use_true_random=False)).shuffle(lines)
        joined = b"\n".join(lines)
    elif how == "drop":
        keep = data.draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
        joined = b"\n".join(x for x, k in zip(lines, keep, strict=True) if k)
    elif how == "noise":
        at = data.draw(st.integers(0, len(joined)))
        joined = joined[:at] + data.draw(st.binary(max_size=40)) + joined[at:]
    elif how == "utf-16":
        joined = b"\xff\xfe" + joined.decode("utf-8", "replace").encode("utf-16-le")
    elif how == "crlf":
        joined = joined.replace(b"\n", b"\r\n")
    else:
        joined = re.sub(rb"\d+", lambda m: b"nan" if len(m.group()) == 1 else b"9" * 30, joined, count=3)
    captures, source = read(joined)
    assert source.lines == source.matched + source.unmatched + source.skipped
    for capture in captures:
        if capture.frame is not None:
            assert capture.frame["line"].max() is None or int(capture.frame["line"].max()) <= source.lines  # type: ignore[arg-type]


def vmstat_text(rows: int, stamped: bool) -> bytes:
    """Rows as a busy machine prints them: wide numbers push the row, some lines are damaged, the name line repeats."""
    dice = random.Random(3)
    head = ["procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----"]
    head.append(" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st")
    if stamped:
        head = [head[0] + " -----timestamp-----", head[1] + "                 UTC"]
    lines = []
    for i in range(rows):
        if i % 21 == 0:
            lines += head
        wide = 10 ** dice.choice((3, 6, 8, 9, 10))
        row = (dice.randrange(12), 0, dice.randrange(9) * wide, dice.randrange(wide), 32312, dice.randrange(10**8))
        row += (dice.randrange(10 ** dice.randrange(1, 7)), 0, dice.randrange(wide), 0, dice.randrange(200_000), 490)
        row += (dice.randrange(101), 7, 35, 0, 1)
        line = "{:2d} {:2d} {:6d} {:6d} {:6d} {:6d} {:4d} {:4d} {:5d} {:5d} {:4d} {:4d} {:2d} {:2d} {:2d} {:2d} {:2d}".format(
            *row
        )
        line += f" 2024-05-{1 + i // 1440:02d} {i // 60 % 24:02d}:{i % 60:02d}:07" if stamped else ""
        damage = dice.randrange(60)
        if damage == 0:
            line = line[: dice.randrange(len(line))]
        elif damage == 1:
            line = line.replace(" ", "\t")
        elif damage == 2:
            line = line.replace("7", "x", 1)
        lines.append(line)
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("size", [700, 20_000, 1 << 20])
def test_vmstat_rows_by_place_are_those_by_blanks(stamped: bool, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = vmstat_text(4000, stamped)

    def parsed(piece: int) -> list[Capture]:
        monkeypatch.setattr(vmstat_rows, "PIECE", piece)
        segment = Segment(Source("x"))
        lines = data.splitlines(keepends=True)
        segment.stream = [Block(b"".join(lines[i : i + 997]), 0) for i in range(0, len(lines), 997)]
        made = vmstat.parse(segment)
        assert segment.counted == (len(lines), sum(not x.strip() for x in lines))
        return [*made, *segment.rejected]  # type: ignore[list-item]

    by_place = parsed(size)
    monkeypatch.setattr(vmstat_rows, "FEW", 1 << 30)
    by_blanks = parsed(size)
    assert len(by_place) == len(by_blanks)
    for one, other in zip(by_place, by_blanks, strict=True):
        if isinstance(one, Capture):
            assert one.frame is not None
            assert one.frame.equals(other.frame)
            assert (one.clock, one.notes, one.facts) == (other.clock, other.notes, other.facts)
        else:
            assert one == other
