"""The editor: checked while typing, suggestions, trial, explanation, backtest, and the ticket at the end."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from tests.service.http.console.conftest import Complaints, Opening, Running
from tests.service.http.console.fake_state import TICKET
from tests.service.http.console.suggesting import editor_that_knows

UNDERLINED = """() => {
    const mark = document.querySelector('.filter-layer .fault');
    if (!mark) return null;
    const before = document.createRange();
    before.selectNodeContents(document.querySelector('.filter-layer'));
    before.setEndBefore(mark);
    return [before.toString(), mark.textContent];
}"""


def write(page: Page, text: str) -> None:
    page.get_by_label("Filter", exact=True).fill(text)


def test_a_mistake_is_underlined_at_its_place_and_named_below(open_console: Opening, complaints: Complaints) -> None:
    complaints.expected = {422}
    page = open_console("#/editor")
    write(page, "price < 10 AND titel LIKE '%oak%'")
    expect(page.locator(".verdict-line")).to_contain_text("did you mean title?")
    expect(page.locator(".verdict-line")).to_contain_text("Character 16")
    assert page.evaluate(UNDERLINED) == ["price < 10 AND ", "titel"]
    expect(page.get_by_label("Filter", exact=True)).to_have_attribute("aria-invalid", "true")


def test_the_underline_lies_exactly_under_the_text_area(open_console: Opening, complaints: Complaints) -> None:
    complaints.expected = {422}
    page = open_console("#/editor", viewport={"width": 360, "height": 740})
    write(page, "price < 10 AND price < 20 AND price < 30 AND titel LIKE '%oak%'")
    page.locator(".fault").wait_for()
    same = page.evaluate("""() => {
        const style = (e) => { const s = getComputedStyle(e), { width, left, top } = e.getBoundingClientRect();
            return [s.font, s.lineHeight, s.letterSpacing, s.whiteSpace, s.overflowWrap, s.padding, s.borderWidth,
                    width, left, top].join() };
        const [layer, area] = ['.filter-layer', '.filter-area'].map(s => document.querySelector(s));
        return style(layer) === style(area) && area.scrollHeight <= area.clientHeight + 1;
    }""")
    assert same


def test_places_are_right_after_characters_beyond_sixteen_bits(open_console: Opening, complaints: Complaints) -> None:
    complaints.expected = {422}
    page = open_console("#/editor")
    write(page, "title = '🪑🪑' AND titel = 'x'")
    page.locator(".fault").wait_for()
    assert page.evaluate(UNDERLINED) == ["title = '🪑🪑' AND ", "titel"]


def test_a_mistake_at_the_end_has_a_place_too(open_console: Opening, complaints: Complaints) -> None:
    complaints.expected = {422}
    page = open_console("#/editor")
    write(page, "price <")
    page.locator(".fault").wait_for()
    expect(page.locator(".verdict-line")).to_contain_text("expected a value")
    assert page.locator(".fault").bounding_box()["width"] > 2  # type: ignore[index]


def test_a_valid_filter_shows_how_it_is_read_and_a_mended_one_loses_its_underline(
    open_console: Opening, complaints: Complaints
) -> None:
    complaints.expected = {422}
    page = open_console("#/editor")
    write(page, "quantity > ")
    page.locator(".fault").wait_for()
    write(page, "quantity > 1")
    expect(page.locator(".verdict-line")).to_contain_text("quantity >= 2")
    expect(page.locator(".fault")).to_have_count(0)


def test_names_operators_and_values_are_suggested_from_the_schema(
    open_console: Opening, complaints: Complaints
) -> None:
    page, field, options = editor_that_knows("schema", open_console, complaints)
    field.press_sequentially("furn")
    expect(options.first).to_contain_text("furniture_category")
    field.press("Enter")
    expect(field).to_have_value("furniture_category ")
    field.press("Control+Space")
    expect(page.get_by_role("option", name="<= is a kind of")).to_be_visible()
    field.press_sequentially("<= 'arm")
    expect(options).to_have_text(["armoirebedroom › wardrobe", "armchairdining_room › chair"])
    field.press("ArrowDown")
    field.press("Enter")
    expect(field).to_have_value("furniture_category <= 'armchair'")
    field.press_sequentially(" AND sold = ")
    expect(options).to_have_text(["TRUE", "FALSE"])
    field.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    field.press("Control+a")
    field.press_sequentially("event_type IN ('antiques', ")
    expect(options).to_have_text(["antiques", "furniture"])


def test_what_was_written_before_the_schema_came_is_completed_when_it_comes(
    open_console: Opening, complaints: Complaints
) -> None:
    complaints.expected = {422}
    page = open_console("#/")
    held: list[Route] = []
    page.route("**/v1/schema", lambda route: held.append(route))
    with page.expect_request("**/v1/schema"):
        page.evaluate("() => { location.hash = '#/editor'; }")
    page.get_by_label("Filter", exact=True).press_sequentially("furn")
    options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(options).to_have_count(0)
    held[0].continue_()
    expect(options.first).to_contain_text("furniture_category")


def test_recent_events_are_tried_and_each_is_explained(open_console: Opening, service: Running) -> None:
    page = open_console("#/editor")
    write(page, "price < 400 AND period = 'XIX'")
    expect(page.locator(".lead", has_text="recent events match")).to_be_visible()
    matching = page.locator(".trial-lists section", has_text="Matching").first
    matching.locator("summary").first.click()
    expect(matching.locator(".verdict.held")).to_have_count(2)
    rest = page.locator(".trial-lists section", has_text="Not matching")
    without = [each for each in service.state.events if "period" not in each]
    expect(rest.locator("li > details")).to_have_count(40 - matching.locator("li > details").count())
    rest.locator("li", has_text=without[0]["title"]).first.locator("summary").first.click()
    expect(rest.locator(".verdict.absent")).to_contain_text("period is absent")


def test_a_backtest_shows_its_progress_and_then_a_plot(open_console: Opening) -> None:
    page = open_console("#/editor")
    button = page.get_by_role("button", name="Backtest")
    expect(button).to_be_disabled()
    write(page, "price < 400")
    button.click()
    expect(page.get_by_text("50 % done")).to_be_visible()
    expect(page.locator(".lead", has_text="stored events would have matched")).to_be_visible()
    expect(page.get_by_role("img", name="Matches over time").locator("rect.bar")).to_have_count(36)


def test_switching_on_shows_the_ticket_once_with_a_button_that_copies_it(
    open_console: Opening, service: Running
) -> None:
    page = open_console("#/editor", permissions=["clipboard-read", "clipboard-write"])
    write(page, "price < 400")
    expect(page.locator(".ok")).to_be_visible()
    page.get_by_label("Name").fill("Bargains")
    page.get_by_label("Valid for").select_option("1 week")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_label("Ticket")).to_have_text(TICKET)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == TICKET
    made = service.state.subscriptions[-1]
    assert (made["label"], made["filter"], made["delivery"]) == ("Bargains", "price < 400", {"mode": "pull"})
    page.get_by_role("link", name="Open subscription").click()
    expect(page.get_by_role("heading", name="Bargains")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="Create")).to_be_visible()
    expect(page.get_by_text(TICKET)).to_have_count(0)


def test_what_the_service_refuses_is_said_beside_the_button(open_console: Opening, complaints: Complaints) -> None:
    complaints.expected = {422}
    page = open_console("#/editor")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("There is no valid filter to subscribe to.")).to_be_visible()
    expect(page.get_by_label("Filter", exact=True)).to_be_focused()
    write(page, "price < 400")
    expect(page.locator(".ok")).to_be_visible()
    page.get_by_label("Webhook").check()
    page.get_by_role("textbox", name="URL").fill("http://nowhere")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("an address begins with https://")).to_be_visible()


def test_the_whole_way_through_the_editor_needs_no_mouse(open_console: Opening, service: Running) -> None:
    page = open_console()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    for _ in range(6):
        page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Editor")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Filter editor")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Filter", exact=True)).to_be_focused()
    page.keyboard.type("price < 400")
    expect(page.locator(".trial-lists")).to_be_visible()
    reached = []
    # Whatever is on the way: Tab alone gets from the filter to the last button.
    for _ in range(200):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.textContent || document.activeElement.id")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", name
        reached.append(name)
        if name == "label":
            page.keyboard.type("By keyboard")
        if name == "Create":
            page.keyboard.press("Enter")
            break
    assert "Try now" in reached
    assert "Backtest" in reached
    expect(page.get_by_label("Ticket")).to_be_visible()
    assert service.state.subscriptions[-1]["label"] == "By keyboard"


def test_a_draft_outlives_a_look_at_another_page(open_console: Opening) -> None:
    page = open_console("#/editor")
    write(page, "price < 123")
    page.get_by_role("link", name="Schema").click()
    expect(page.get_by_role("heading", name="Schema")).to_be_visible()
    page.get_by_role("link", name="Editor").click()
    expect(page.get_by_label("Filter", exact=True)).to_have_value("price < 123")
