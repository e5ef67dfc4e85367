/** Says something to those who listen instead of look. */

export function announce(text) {
  document.getElementById("announcements").textContent = text;
}
