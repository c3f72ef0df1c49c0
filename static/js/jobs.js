// Pages of jobs: times that count on, the dialog before a stop, and the progress of a row.
(() => {
  const SENT_MS = 5000;
  // Times. What the server counted up to now is counted on here, whatever this machine's clock says.
  const began = new WeakMap();
  const write = (seconds) => {
    const forms = document.getElementById("durations")?.dataset;
    if (!forms) return null;
    const parts = {
      d: Math.floor(seconds / 86400),
      h: Math.floor((seconds % 86400) / 3600),
      m: Math.floor((seconds % 3600) / 60),
      s: seconds % 60,
    };
    const form = parts.d ? forms.days : parts.h ? forms.hours : parts.m ? forms.minutes : forms.seconds;
    return form.replace(/%\((\w)\)s/g, (_all, unit) => parts[unit]);
  };
  const tick = () => {
    if (document.hidden) return;
    for (const time of document.querySelectorAll("[data-elapsed]")) {
      if (!began.has(time)) began.set(time, performance.now() - Number(time.dataset.elapsed) * 1000);
      const text = write(Math.floor((performance.now() - began.get(time)) / 1000));
      if (text !== null && text !== time.textContent) time.textContent = text;
    }
  };
  setInterval(tick, 1000);
  document.addEventListener("DOMContentLoaded", tick);
  document.addEventListener("visibilitychange", tick);
  document.addEventListener("htmx:load", tick);

  // The question before a stop is asked above the page; each form is sent once.
  document.addEventListener("htmx:afterSwap", (event) => {
    const dialog = event.target;
    if (dialog.id !== "dialog" || dialog.open) return;
    const asked = event.detail.requestConfig.elt;
    const menu = asked.closest("details");
    dialog.showModal();
    dialog.addEventListener("close", () => {
      const back = menu && !menu.open ? menu.querySelector("summary") : document.getElementById(asked.id) || asked;
      back.focus();
    }, { once: true });
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-once]");
    if (!form || event.submitter?.formMethod === "dialog") return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    setTimeout(() => delete form.dataset.sent, SENT_MS); // the way there may have come to nothing
  });

  // The progress opens below what opens it, and asks for news only while it is open.
  const progress = () => document.getElementById("progress");
  let opener = null;
  const place = (box) => {
    const below = document.getElementById(opener)?.getBoundingClientRect();
    if (!below) return;
    const most = window.innerHeight - box.offsetHeight - 8;
    box.style.left = `${Math.max(8, Math.min(below.left, window.innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${Math.max(8, Math.min(below.bottom + 6, most))}px`;
  };
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.classList.contains("ty-opens")) opener = event.target.id;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const box = progress();
    if (event.target !== box) return;
    if (!box.matches(":popover-open")) box.showPopover();
    place(box);
    box.focus();
  });
  document.addEventListener("toggle", (event) => {
    if (event.target !== progress() || event.newState !== "closed") return;
    const inside = event.target.contains(document.activeElement) || document.activeElement === document.body;
    event.target.replaceChildren();
    if (inside) document.getElementById(opener)?.focus();
  }, true);
})();
