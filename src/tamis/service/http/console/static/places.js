/** Router of the console: the page that the address names, #/subscriptions/sub_…?state=active. Leaving aborts its signal. */

import { h, put } from "./dom.js";
import { announce } from "./parts/announcer.js";
import { failure, loading } from "./parts/states.js";
import { Problem, isLeaving } from "./api.js";

/** Parses an address's fragment. */
export function placeOf(fragment) {
  const [path, query = ""] = fragment.replace(/^#\/?/, "").split("?");
  const [name = "", ...rest] = path.split("/").map(decodeURIComponent);
  return { name, rest, query: new URLSearchParams(query) };
}

/** The address of a page. */
export function addressOf(name, rest = [], query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const tail = given.length ? `?${new URLSearchParams(given)}` : "";
  return `#/${[name, ...rest].map(encodeURIComponent).join("/")}${tail}`;
}

/** Shows pages in `main`, and marks the current one in `nav`. `pages`: name → { title, label, inside?, show }. */
export class Places {
  #main; #nav; #pages; #leaving = new AbortController(); #first = true;

  constructor(main, nav, pages) {
    this.#main = main;
    this.#nav = nav;
    this.#pages = pages;
  }

  start() {
    addEventListener("hashchange", () => this.enter());
    this.enter();
  }

  /** Leaves the page that is shown, and shows the one that the address names. */
  async enter() {
    const place = placeOf(location.hash);
    const page = this.#pages[place.name] ?? this.#pages[""];
    this.#leaving.abort();
    this.#leaving = new AbortController();
    const { signal } = this.#leaving;
    this.#mark(place.name in this.#pages ? place.name : "");
    document.title = `${page.title} · Tamis`;
    const shown = h("div", { class: `page page-${page.label.toLowerCase()}` }, loading());
    put(this.#main, shown);
    if (!this.#first) {
      // Who uses a screen reader or the keyboard begins at the top of what is new.
      this.#main.focus({ preventScroll: true });
      scrollTo(0, 0);
      announce(page.title);
    }
    this.#first = false;
    try {
      await page.show(shown, place, signal);
    } catch (error) {
      if (isLeaving(error) || signal.aborted) return;
      put(shown, h("h1", {}, page.title), failure(error, () => this.enter()));
      if (!(error instanceof Problem)) throw error;
    }
  }

  /** Leaves the page and shows something that is none, such as the sign-in box. */
  replace(element) {
    this.#leaving.abort();
    this.#mark(null);
    put(this.#main, element);
  }

  #mark(current) {
    const links = Object.entries(this.#pages).map(([name, page]) =>
      h("a", { href: addressOf(name), "aria-current": name === current ? "page" : undefined }, page.label));
    put(this.#nav, h("ul", {}, links.map((link) => h("li", {}, link))));
  }
}
