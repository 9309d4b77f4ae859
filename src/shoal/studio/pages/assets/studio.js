// What every page does by itself: help that closes, code that is copied, a theme that is remembered in this tab.
document.addEventListener("click", (event) => {
  for (const open of document.querySelectorAll("details.why[open]")) if (!open.contains(event.target)) open.open = false;
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
  if (event.target.closest("[data-theme]")) theme(document.body.classList.contains("body--dark") ? "light" : "dark");
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const open of document.querySelectorAll("details.why[open]")) { open.open = false; open.querySelector("summary").focus(); }
});
// A box of help near the right edge moves in.
document.addEventListener("toggle", (event) => {
  const box = event.target.matches?.("details.why[open]") && event.target.querySelector("div");
  if (!box) return;
  box.style.left = "";
  const over = box.getBoundingClientRect().right - (document.documentElement.clientWidth - 8);
  if (over > 0) box.style.left = `calc(-.6rem - ${over}px)`;
}, true);

async function copy(button) {
  const text = button.closest(".code").querySelector("pre").textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
  }
  const said = button.textContent;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = said; }, 1500);
}

// The theme is no secret, and nothing else is kept in the browser.
function theme(which) {
  localStorage.setItem("shoal-theme", which);
  window.Quasar?.Dark.set(which === "dark");
}
const kept = localStorage.getItem("shoal-theme");
if (kept) {
  const wait = setInterval(() => { if (window.Quasar?.Dark && document.querySelector(".page")) { clearInterval(wait); theme(kept); } }, 15);
}
