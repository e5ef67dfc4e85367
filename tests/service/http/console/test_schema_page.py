"""The schema browser, and growing the schema."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.service.http.console.conftest import Complaints, Opening, Running


def test_types_attributes_values_and_trees_are_shown(open_console: Opening) -> None:
    page = open_console("#/schema")
    antiques = page.get_by_role("region", name="antiques")
    row = antiques.locator("tr", has_text="quantity")
    expect(row).to_contain_text("integer")
    expect(row).to_contain_text("mandatory")
    expect(antiques.locator("tr", has_text="tags")).to_contain_text("several values")
    expect(page.get_by_role("region", name="period").locator(".chips")).to_contain_text("XVIII")
    expect(page.get_by_text("XVI < XVII < XVIII < XIX < XX")).to_be_visible()
    expect(page.get_by_text("four_poster")).to_be_visible()
    page.locator("summary", has_text="bedroom").click()
    expect(page.get_by_text("four_poster")).to_be_hidden()


def test_the_search_finds_attributes_and_values(open_console: Opening) -> None:
    page = open_console("#/schema")
    page.get_by_label("Find").fill("four_poster")
    expect(page.get_by_text("four_poster")).to_be_visible()
    expect(page.get_by_role("region", name="antiques")).to_have_count(0)
    page.get_by_label("Find").fill("no such thing")
    expect(page.get_by_text("No match in the schema.")).to_be_visible()


def test_an_attribute_with_a_new_list_of_values_is_added(open_console: Opening, service: Running) -> None:
    page = open_console("#/schema")
    form = page.get_by_role("region", name="Extend")
    form.get_by_label("Name").fill("material")
    form.get_by_label("Domain").select_option("a new list of values")
    form.get_by_label("Values, comma-separated").fill("oak, walnut")
    form.get_by_label("antiques").uncheck()
    form.get_by_role("button", name="Extend the schema").click()
    expect(page.get_by_text("version 2")).to_be_visible()
    schema = service.state.schema
    assert schema.attributes["material"].domain.kind == "enumerated"
    assert not schema.event_types["furniture"].annotations["material"].mandatory
    assert "material" not in schema.event_types["antiques"].annotations


def test_an_event_type_is_added_with_chosen_attributes(open_console: Opening, service: Running) -> None:
    page = open_console("#/schema")
    form = page.get_by_role("region", name="Extend")
    form.get_by_label("Event type", exact=True).check()
    form.get_by_label("Name", exact=True).fill("sculptures")
    form.get_by_label("price", exact=True).select_option("mandatory")
    form.get_by_label("tags", exact=True).select_option("optional")
    form.get_by_role("button", name="Extend the schema").click()
    expect(page.get_by_role("region", name="sculptures")).to_be_visible()
    added = service.state.schema.event_types["sculptures"].annotations
    assert {name: (given.mandatory, given.multiple) for name, given in added.items()} == {
        "price": (True, False),
        "tags": (False, True),
    }


def test_an_extension_that_is_refused_says_why(open_console: Opening, complaints: Complaints) -> None:
    complaints.expected = {422}
    page = open_console("#/schema")
    form = page.get_by_role("region", name="Extend")
    form.get_by_label("Name").fill("price")
    form.get_by_role("button", name="Extend the schema").click()
    expect(form).to_contain_text("'price' is already defined")
