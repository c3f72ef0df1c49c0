// A channel made in another tab can be chosen when one comes back: it joins the choices that stand there.
(() => {
  const values = (select) => [...select.options].map((option) => option.value);

  const refresh = async () => {
    const more = document.getElementById("alert-more");
    const team = more?.dataset.team ?? document.querySelector("[name=shown_team]")?.value;
    if (document.hidden || !team) return;
    const answer = await fetch(`${more.dataset.channels}?team=${team}`, { headers: { "HX-Request": "true" } });
    if (!answer.ok) return;
    const fresh = document.createElement("select");
    fresh.innerHTML = await answer.text();
    for (const select of document.querySelectorAll("#alert-rows [name=alert_channel]")) {
      const known = values(select);
      for (const option of fresh.options) if (!known.includes(option.value)) select.append(option.cloneNode(true));
    }
    const none = document.getElementById("no-channel");
    if (none) none.hidden = fresh.options.length > 1;
  };
  document.addEventListener("visibilitychange", () => refresh().catch(() => {})); // offline: it stays as it is
})();
