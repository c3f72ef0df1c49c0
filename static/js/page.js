// What every page needs: local times, menus that close, polling only while somebody looks, and a word when the
// console does not answer.
(() => {
  const two = (number) => String(number).padStart(2, "0");
  const offset = (minutes) => {
    const size = Math.abs(minutes);
    const rest = size % 60 ? `:${two(size % 60)}` : "";
    return `UTC${minutes < 0 ? "-" : "+"}${Math.floor(size / 60)}${rest}`;
  };
  const local = (at) =>
    `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ` +
    `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${offset(-at.getTimezoneOffset())}`;
  const localise = (root) => {
    for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
      const at = new Date(time.getAttribute("datetime"));
      if (Number.isNaN(at.valueOf())) continue;
      time.title = time.textContent;
      time.textContent = local(at);
      time.setAttribute("data-local", "");
    }
  };
  document.addEventListener("DOMContentLoaded", () => localise(document));
  document.addEventListener("htmx:load", (event) => localise(event.target.parentElement || event.target));

  // The console learns the viewer's time zone, so that “today” is the viewer's day.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = `timezone=${encodeURIComponent(zone)}; path=/; max-age=31536000; samesite=lax`;

  // One menu at a time; a click elsewhere or Escape closes it.
  const closeMenus = (but) => {
    for (const menu of document.querySelectorAll("details.ty-menu[open]")) if (menu !== but) menu.open = false;
  };
  document.addEventListener("click", (event) => closeMenus(event.target.closest("details.ty-menu")));
  document.addEventListener("keydown", (event) => {
    const menu = document.querySelector("details.ty-menu[open]");
    if (event.key !== "Escape" || !menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // Copies the text of what `data-copy` names, and says so on the button.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const from = document.querySelector(button.dataset.copy);
    if (!navigator.clipboard) { // without TLS there is none: the reader copies what is selected
      getSelection().selectAllChildren(from);
      from.select?.();
      return;
    }
    await navigator.clipboard.writeText("value" in from ? from.value : from.textContent);
    const label = button.querySelector("span") || button;
    const before = label.textContent;
    label.textContent = button.dataset.copied;
    setTimeout(() => { label.textContent = before; }, 2000);
  });

  // What was unfolded, scrolled or focused stays so when its place is drawn anew.
  let kept = { opened: [], scrolled: [], focused: null };
  const drawnAnew = (one) => (one?.id && !one.isConnected ? document.getElementById(one.id) : null);
  document.addEventListener("htmx:beforeSwap", () => {
    const scrolled = [...document.querySelectorAll("[id]")].filter((one) => one.scrollTop);
    kept = {
      opened: [...document.querySelectorAll("details[id][open]")],
      scrolled: scrolled.map((one) => [one, one.scrollTop]),
      focused: document.activeElement,
    };
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const one of kept.opened) drawnAnew(one)?.setAttribute("open", "");
    for (const [one, top] of kept.scrolled) if (drawnAnew(one)) drawnAnew(one).scrollTop = top;
    drawnAnew(kept.focused)?.focus({ preventScroll: true });
  });

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.target.hasAttribute("data-poll")) event.preventDefault();
  });

  const offline = (shown) => {
    const note = document.getElementById("offline");
    if (note) note.hidden = !shown;
  };
  // What a page asks by itself is refused only where nobody is signed in any more, or the console is ill.
  document.addEventListener("htmx:afterRequest", (event) => offline(!event.detail.successful));

  // A draft that was sent has done its work once its job is there.
  if (/^\/jobs\/jo-/.test(location.pathname)) {
    const draft = sessionStorage.getItem("create-draft");
    if (draft && JSON.parse(draft).sent) sessionStorage.removeItem("create-draft");
  }
})();
