/** Theme switch in the header: light, dark, or as the system is. The choice is kept in localStorage. */

const STORED = "tamis-theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const NAMES = { system: "Auto", light: "Light", dark: "Dark" };

export function startThemeSwitch(button) {
  const render = () => {
    const now = document.documentElement.dataset.theme ?? "system";
    button.textContent = NAMES[now];
    button.setAttribute("aria-label", `Colours: ${NAMES[now]}. Switch to ${NAMES[NEXT[now]]}`);
  };
  button.addEventListener("click", () => {
    const next = NEXT[document.documentElement.dataset.theme ?? "system"];
    if (next === "system") {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem(STORED);
    } else {
      document.documentElement.dataset.theme = next;
      localStorage.setItem(STORED, next);
    }
    render();
  });
  render();
}
