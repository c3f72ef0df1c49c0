// What every page needs: local times, polling only while somebody looks, and a word when the console does not answer.
(() => {
  const localise = (root) => {
    for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
      const at = new Date(time.getAttribute("datetime"));
      if (Number.isNaN(at.valueOf())) continue;
      time.title = time.textContent;
      time.textContent = at.toLocaleString(document.documentElement.lang, {
        year: "numeric", month: "2-digit", day: "2-digit",
        hour: "2-digit", minute: "2-digit", second: "2-digit",
        hour12: false, timeZoneName: "shortOffset",
      });
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
