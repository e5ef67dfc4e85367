// Runs before the first paint, so that a page chosen dark does not flash white.
{
  const chosen = localStorage.getItem("tamis-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
