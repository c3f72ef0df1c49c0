// What every page needs: local times, polling only while somebody looks, and a word when the console does not answer.
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

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.target.hasAttribute("data-poll")) event.preventDefault();
  });

  const offline = (shown) => {
    const note = document.getElementById("offline");
    if (note) note.hidden = !shown;
  };
  document.addEventListener("htmx:sendError", () => offline(true));
  document.addEventListener("htmx:responseError", () => offline(true));
  document.addEventListener("htmx:afterOnLoad", () => offline(false));
})();
