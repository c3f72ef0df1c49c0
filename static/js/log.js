// The log follows its end only while the reader is there.
(() => {
  const NEAR = 40; // pixels
  let follow = true;
  const pane = () => document.querySelector(".ty-log");
  const toEnd = () => {
    const text = pane();
    if (text) text.scrollTop = text.scrollHeight;
  };
  document.addEventListener("htmx:beforeSwap", (event) => {
    const text = pane();
    if (!text) return;
    if (text.contains(event.target)) {
      follow = text.scrollHeight - text.scrollTop - text.clientHeight < NEAR;
    } else if (event.target.id === "log") {
      follow = true;
    }
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (follow && event.target.closest?.("#log")) toEnd();
  });
  document.addEventListener("DOMContentLoaded", toEnd);
})();
