"""Pages and Markdown from the same blocks."""

import numpy as np
import pytest

from shoal.reporting.document import Gauge, Picture, Table, markdown, page, write


def test_a_gauge_is_a_bar_on_a_page_and_a_number_elsewhere():
    table = Table(("a", "b"), ((Gauge("0.5", 0.5, note="half <of> it"), Gauge("7", 7.0, bad=True)),))
    assert "| 0.5 | **7** |" in markdown([table])
    text = page([table])
    assert "width: calc(50% - 6px)" in text
    assert 'title="half &lt;of&gt; it"' in text
    assert 'class="gauge fails"><i style="width: calc(100% - 6px)">' in text  # no wider than its cell


@pytest.mark.slow
def test_a_palette_keeps_the_colour_of_small_things(tmp_path):
    from matplotlib.figure import Figure
    from PIL import Image

    figure = Figure(figsize=(3, 3))
    ax = figure.subplots()
    ax.imshow(np.linspace(0, 1, 10_000).reshape(100, 100), cmap="YlOrRd")
    ax.set_title("a name", color="#0060b0")
    write([Picture("map", "a map", figure)], tmp_path)
    shown = np.asarray(Image.open(tmp_path / "figures" / "map.png").convert("RGB")).astype(int)
    assert np.abs(shown - (0x00, 0x60, 0xB0)).max(axis=2).min() < 16
