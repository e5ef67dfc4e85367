"""The reader of server-sent events, on its own and when the connection is lost."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.service.http.console.conftest import Opening, Running

READ = """async (pieces) => {
    const { events } = await import('./event_stream.js');
    const encoder = new TextEncoder();
    const body = new ReadableStream({ start(c) { for (const p of pieces) c.enqueue(encoder.encode(p)); c.close(); } });
    const found = [];
    for await (const { id, data } of events(body)) if (data !== '') found.push([id, data]);
    return found;
}"""


def test_events_are_read_whole_however_the_bytes_are_cut(open_console: Opening) -> None:
    page = open_console()
    text = 'retry: 2000\n\n: heartbeat\n\nid: 1\r\ndata: {"a":\r\ndata: 1}\r\n\r\nid: 2\ndata:é\n\nid: 3\ndata: cut off'
    expected = [["1", '{"a":\n1}'], ["2", "é"]]
    assert page.evaluate(READ, [text]) == expected
    assert page.evaluate(READ, list(text)) == expected


def test_a_lost_stream_goes_on_after_the_last_notification(open_console: Opening, service: Running) -> None:
    service.state.stream_length = 3
    page = open_console()
    expect(page.locator(".match").nth(2)).to_be_visible()
    page.wait_for_function("() => document.querySelectorAll('.match').length > 3")
    assert service.state.resumed[:2] == [None, "3"]
