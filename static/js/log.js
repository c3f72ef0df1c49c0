// The log follows its end only while the reader is there; else a button tells how much is new.
(() => {
  const NEAR = 40; // pixels
  const MOST_PARTS = 200; // additions that stay on the page
  const WRAP = "log-wrap";
  let follow = true;
  let unread = 0;
  let shown = 0;
  const pane = () => document.querySelector("#log .ty-log");
  const atEnd = (text) => text.scrollHeight - text.scrollTop - text.clientHeight < NEAR;
  const tell = () => {
    const button = document.getElementById("log-new");
    if (!button) return;
    button.hidden = unread === 0;
    button.textContent = unread === 1 ? button.dataset.one : button.dataset.many.replace("#", unread);
  };
  const toEnd = () => {
    const text = pane();
    if (text) text.scrollTop = text.scrollHeight;
    unread = 0;
    tell();
  };
  const wrap = (on) => {
    const button = document.getElementById(WRAP);
    if (!button) return;
    button.setAttribute("aria-pressed", String(on));
    pane().classList.toggle("ty-log-long", !on);
  };
  const wraps = () => localStorage.getItem(WRAP) !== "off";

  document.addEventListener("htmx:beforeSwap", (event) => {
    const text = pane();
    if (!text) return;
    if (text.contains(event.target)) {
      follow = atEnd(text);
      shown = text.scrollTop;
    } else if (event.target.id === "log") {
      follow = true;
    }
  });
  const trim = (lines) => {
    const parts = lines.querySelectorAll(".ty-added");
    if (parts.length <= MOST_PARTS) return;
    parts[0].remove();
    document.getElementById("log-trimmed").hidden = false;
  };
  document.addEventListener("htmx:afterSwap", (event) => {
    const target = event.target;
    if (target.classList?.contains("ty-tail")) {
      target.firstElementChild.scrollTop = target.firstElementChild.scrollHeight;
    } else if (target.classList?.contains("ty-log-lines")) {
      const added = target.lastElementChild;
      if (follow) {
        trim(target);
        toEnd();
      } else {
        pane().scrollTop = shown;
        unread += added ? added.textContent.split("\n").length - 1 : 0;
        tell();
      }
    } else if (target.id === "log") {
      wrap(wraps());
      toEnd();
    }
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("#log-new")) toEnd();
    if (event.target.closest(`#${WRAP}`)) {
      const on = !wraps();
      localStorage.setItem(WRAP, on ? "on" : "off");
      wrap(on);
    }
  });
  document.addEventListener("scroll", (event) => {
    if (event.target === pane() && unread && atEnd(event.target)) {
      unread = 0;
      tell();
    }
  }, true);
  document.addEventListener("DOMContentLoaded", () => {
    wrap(wraps());
    toEnd();
  });
})();
