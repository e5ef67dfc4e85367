/** Announcements to screen readers. */

export function announce(text) {
  document.getElementById("announcements").textContent = text;
}
