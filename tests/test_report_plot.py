"""Pictures: golden images with tolerance, no lost spike, no state left behind, the same bytes each time."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import polars as pl
import pytest
import report_builders as build
from matplotlib.text import Text
from PIL import Image

from loganalyze.errors import LogAnalyzeError
from loganalyze.model.records import Run
from loganalyze.reports import plot, plot_panels, series
from loganalyze.reports import plot_style as look
from loganalyze.reports.plot_axis import Stretch, axis_of

GOLDEN = Path(__file__).parent / "golden"
CASES = (
    "healthy", "partial_offload", "all_captures", "two_gpus", "many_requests", "oom_at_load", "swapping", "contention",
)  # fmt: skip
RMS = 9.0
"""Of 255. Another FreeType moves glyph edges (about 4); a missing line, label or panel gives more."""


def _small(report: object) -> np.ndarray:
    drawn = plot.figure(report)  # type: ignore[arg-type]
    out = io.BytesIO()
    with look.style():
        drawn.savefig(out, format="png", dpi=50, metadata={"Software": None})
    return np.asarray(Image.open(io.BytesIO(out.getvalue())).convert("RGB"), dtype=float)


@pytest.mark.skipif(
    matplotlib.__version_info__[:2] < (3, 11), reason="matplotlib before 3.11 spaces letters in another way"
)
@pytest.mark.parametrize("case", CASES)
def test_looks_as_it_did(case: str) -> None:
    path = GOLDEN / f"{case}.png"
    image = _small(getattr(build, case)())
    if os.environ.get("LOGANALYZE_UPDATE_GOLDEN"):
        Image.fromarray(image.astype("uint8")).quantize(64).save(path, optimize=True)
    golden = np.asarray(Image.open(path).convert("RGB"), dtype=float)
    assert image.shape == golden.shape
    assert float(np.sqrt(((image - golden) ** 2).mean())) < RMS


def test_the_comparison_notices_another_picture() -> None:
    golden = np.asarray(Image.open(GOLDEN / "contention.png").convert("RGB"), dtype=float)
    report = build.contention()
    report.runs[0].judgement.marks = []  # type: ignore[union-attr]
    other = _small(report)
    rows = min(len(golden), len(other))
    assert float(np.sqrt(((golden[:rows] - other[:rows]) ** 2).mean())) > RMS


def _ticks_out_of_view(drawn: Any) -> set[int]:
    """Labels that matplotlib holds but does not draw: outside the view, or spares of its locators."""
    out = set()
    for axes in drawn.axes:
        for axis in (axes.xaxis, axes.yaxis):
            shown = {id(tick) for tick in axis._update_ticks()} if axis.get_visible() else set()
            for tick in [*axis.majorTicks, *axis.minorTicks]:
                if id(tick) not in shown or not tick.get_visible():
                    out |= {id(tick.label1), id(tick.label2)}
    return out


@pytest.mark.parametrize("case", CASES)
def test_no_text_overlaps_or_leaves_the_picture(case: str) -> None:
    drawn = plot.figure(getattr(build, case)())
    renderer = drawn.canvas.get_renderer()  # type: ignore[attr-defined]
    with look.style():
        drawn.canvas.draw()
    boxes = []
    found = drawn.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible())
    unseen = _ticks_out_of_view(drawn)
    for text in {id(artist): artist for artist in found}.values():
        if text.get_text().strip() and id(text) not in unseen:
            boxes.append((text.get_text(), text.get_window_extent(renderer)))
    width, height = drawn.canvas.get_width_height()
    for words, box in boxes:
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -1, words
    for i, (words, box) in enumerate(boxes):
        for other, place in boxes[i + 1 :]:
            assert not box.padded(-2).overlaps(place.padded(-2)), (words, other)


@pytest.mark.parametrize("case", CASES)
def test_at_most_four_panels_and_1200_px(case: str) -> None:
    drawn = plot.figure(getattr(build, case)())
    shared = {round(ax.get_position().y0, 4) for ax in drawn.axes}
    assert 1 <= len(shared) <= 4
    assert drawn.canvas.get_width_height()[0] <= 1200


def test_same_bytes_and_no_metadata() -> None:
    first, second = plot.png(build.contention()), plot.png(build.contention())
    assert first == second
    assert Image.open(io.BytesIO(first)).info.keys() <= {"dpi"}
    drawn = plot.svg(build.contention())
    assert drawn == plot.svg(build.contention())
    assert "metadata" not in drawn
    assert "matplotlib" not in drawn.lower()
    assert "<!DOCTYPE" not in drawn
    assert "298" in drawn
    assert "<text" in drawn


def test_leaves_no_state_and_ignores_the_users_settings() -> None:
    import sys

    import matplotlib as mpl

    plain = plot.png(build.healthy())
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "text.parse_math": True}):
        assert plot.png(build.healthy()) == plain
        assert mpl.rcParams["font.size"] == 30
    assert "matplotlib.pyplot" not in sys.modules


def test_svg_has_dark_colours_and_no_inline_style() -> None:
    drawn = plot.svg(build.swapping())
    assert "prefers-color-scheme:dark" in drawn
    assert ' style="' not in drawn
    assert 'width="1160"' in drawn


def test_downsampling_keeps_every_extreme() -> None:
    rng = np.random.default_rng(1)
    t = np.arange(0.0, 200_000.0)
    v = rng.normal(50, 2, len(t))
    v[123_456], v[7] = 900.0, -900.0
    at, lo, hi = series.envelope(t, v, t[0], t[-1], 900)
    assert len(at) <= 1800
    assert hi.max() == 900.0
    assert lo.min() == -900.0
    assert abs(at[hi.argmax()] - 123_456) <= (t[-1] - t[0]) / 900
    edges = np.linspace(t[0], t[-1], 901)
    for i in (0, 400, 899):
        inside = v[(t >= edges[i]) & ((t < edges[i + 1]) | (i == 899))]
        assert hi[i] == inside.max()
        assert lo[i] == inside.min()


def test_pauses_break_the_line_and_repeated_stamps_do_not() -> None:
    t = np.array([0.0, 1, 2, 3, 60, 61, 62])
    _, _, hi = series.envelope(t, np.ones(7), 0, 62)
    assert np.isnan(hi).sum() == 1
    _, _, hi = series.envelope(np.repeat(np.arange(10.0), 3), np.ones(30), 0, 9)
    assert not np.isnan(hi).any()


def test_unknown_samples_are_left_out_not_drawn_as_zero() -> None:
    t = np.arange(10.0)
    v = np.where(t == 5, np.nan, 7.0)
    _, lo, _ = series.envelope(t, v, 0, 9)
    assert np.nanmin(lo) == 7.0


def test_requests_at_once() -> None:
    found = [Stretch("writing", 0.0, 4.0), Stretch("writing", 2.0, 4.0), Stretch("writing", 4.0, 6.0)]
    edges = np.array([0.0, 2.0, 4.0, 6.0])
    assert plot_panels.usual_at_once(found, edges).tolist() == [1.0, 2.0, 1.0]
    assert plot_panels.most_at_once(found, edges).tolist() == [2.0, 2.0, 1.0]


def test_clock_error_is_told_when_it_matters() -> None:
    assert "clocks agree within" in plot.svg(build.all_captures(error_s=1.0)).lower()
    assert "clocks agree within" not in plot.svg(build.all_captures(error_s=0.001)).lower()


def test_captures_without_clock_are_named() -> None:
    report = build.all_captures()
    report.runs[0].captures[1].clock.offset_s = None
    assert "vmstat_t.txt" in plot.svg(report)


def test_hours_of_telemetry_do_not_squeeze_a_short_run() -> None:
    report = build.all_captures()
    run = report.runs[0]
    t = np.arange(-4000.0, 4000.0, 1.0)
    run.captures = [build.gpu_capture({"vram_used_mib": np.full(len(t), 5000.0)}, t)]
    axis = axis_of(run)
    assert axis is not None
    assert axis.span < 3 * (run.end_s or 0)


def test_nothing_to_draw_is_an_error_with_a_remedy() -> None:
    with pytest.raises(LogAnalyzeError) as caught:
        plot.png(Run(id="empty"))
    assert caught.value.remedy


@pytest.mark.parametrize("n", [1, 2, 12, 13, 61, 500])
@pytest.mark.parametrize("clocked", [True, False])
def test_any_number_of_requests(n: int, clocked: bool) -> None:
    requests = [build.request(i + 1, 2.0 + 3 * i if clocked else None) for i in range(n)]
    run = build.base_run(requests)
    if not clocked:
        run.phases, run.start_s, run.end_s = [], None, None
        run.clock.offset_s = None
    build.judged(run, "healthy", "as_expected", summary="fine")
    assert plot.png(run)[:4] == b"\x89PNG"


def test_millions_of_samples_in_bounded_time() -> None:
    n = 1_000_000
    t = np.arange(n) * 0.01
    frame = pl.DataFrame({"t_s": t, "row": np.arange(n, dtype=np.uint32), "vram_used_mib": 20_000 + (t * 7) % 50})
    run = build.base_run([build.request(1, 2.0)], captures=[])
    run.end_s = float(t[-1])
    capture = build.gpu_capture({"vram_used_mib": np.zeros(2)}, np.zeros(2))
    capture.frame = frame
    run.captures = [capture]
    build.judged(run, "healthy", "as_expected", summary="fine")
    plot.png(build.healthy())
    began = time.perf_counter()
    drawn = plot.svg(run)
    assert time.perf_counter() - began < 10
    assert len(drawn) < 300_000


@pytest.mark.parametrize(("fold", "slice_rows"), [(1 << 18, 1 << 18), (3000, 700), (1, 97)])
def test_slices_of_any_size_draw_the_same_and_keep_a_spike(
    fold: int, slice_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = np.random.default_rng(5)
    n = 20_000
    times, used = np.arange(n) * 0.5, dice.integers(100, 200, n).astype(float)
    used[12_345], used[777] = 9_999.0, 1.0
    order = np.concatenate([np.arange(0, n // 2), dice.permutation(np.arange(n // 2, n))])
    capture = build.gpu_capture({"vram_used_mib": np.zeros(2)}, np.zeros(2))
    capture.frame = pl.DataFrame({"t_s": times[order], "device": np.zeros(n, np.int32), "vram_used_mib": used[order]})
    capture.clock.offset_s = 0.0
    run = build.base_run([build.request(1, 2.0)], captures=[capture])
    expected = series.envelope(times, used, 0.0, n / 2)
    monkeypatch.setattr(series, "FOLD", fold)
    monkeypatch.setattr(series, "SLICE", slice_rows)
    (found,) = series.telemetry(run, ["vram_used_mib"], 0.0, 0.0, n / 2)["vram_used_mib"]
    assert found.samples == n
    for got, wanted in zip((found.t, found.lo, found.hi), expected, strict=True):
        assert np.array_equal(got, wanted)
    assert np.nanmax(found.hi) == 9_999.0
    assert np.nanmin(found.lo) == 1.0
