"""Pages and Markdown from the same blocks."""

from shoal.reporting.document import Gauge, Table, markdown, page


def test_a_gauge_is_a_bar_on_a_page_and_a_number_elsewhere():
    table = Table(("a", "b"), ((Gauge("0.5", 0.5, note="half <of> it"), Gauge("7", 7.0, bad=True)),))
    assert "| 0.5 | **7** |" in markdown([table])
    text = page([table])
    assert "width: calc(50% - 6px)" in text
    assert 'title="half &lt;of&gt; it"' in text
    assert 'class="gauge fails"><i style="width: calc(100% - 6px)">' in text  # no wider than its cell
