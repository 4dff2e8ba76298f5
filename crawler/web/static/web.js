// Without this script every page is complete; with it, times are in the reader's zone and figures of crawls are live.
"use strict";

const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
for (const time of document.querySelectorAll("time")) {
  const moment = new Date(time.dateTime);
  if (!Number.isNaN(moment.getTime())) {
    time.title = time.textContent;
    time.textContent = format.format(moment);
  }
}

const reload = document.querySelector("[data-reload]");
if (reload) {
  setTimeout(() => location.reload(), 1000 * Number(reload.dataset.reload));
}

// The page to correct: a click on a text ticks its block, and the colours follow the ticks.
const sheet = document.querySelector(".sheet");
if (sheet) {
  const list = document.querySelector(".marks");
  const ticks = new Map(Array.from(list.querySelectorAll("input"), (tick) => [tick.value, tick]));
  const colour = () => {
    for (const text of sheet.querySelectorAll("[data-block]")) {
      text.classList.toggle("on", ticks.get(text.dataset.block).checked);
    }
  };
  const textAt = (event) => event.target.closest("[data-block]");
  sheet.addEventListener("click", (event) => {
    const text = textAt(event);
    if (text) {
      const tick = ticks.get(text.dataset.block);
      tick.click();
      tick.closest("details")?.setAttribute("open", "");
      list.scrollTop = tick.closest("li").offsetTop - list.clientHeight / 3;
    }
  });
  sheet.addEventListener("pointerover", (event) => {
    const block = textAt(event)?.dataset.block;
    for (const text of sheet.querySelectorAll("[data-block]")) {
      text.classList.toggle("over", text.dataset.block === block);
    }
  });
  list.addEventListener("change", colour);
  window.addEventListener("pageshow", colour);
  sheet.hidden = false;
}

const number = (value) => Math.round(value).toLocaleString("en");
const duration = (seconds) => {
  const left = Math.round(seconds);
  const units = [["d", Math.floor(left / 86400)], ["h", Math.floor(left / 3600) % 24], ["min", Math.floor(left / 60) % 60], ["s", left % 60]];
  const parts = units.filter(([name, count]) => count || (name === "s" && left === 0)).map(([name, count]) => `${count} ${name}`);
  return parts.slice(0, 2).join(" ");
};
// What the cells of a crawl show, as the server writes it.
const fields = {
  share: (crawl) => (crawl.total ? `${number(100 * (crawl.ended + crawl.failed) / crawl.total)}%` : "–"),
  done: (crawl) => number(crawl.ended + crawl.failed),
  elapsed: (crawl) => duration(crawl.elapsed),
};
for (const name of ["total", "rate", "queued", "leased", "ended", "failed", "processes"]) {
  fields[name] = (crawl) => number(crawl[name]);
}

const live = document.querySelector("[data-live=crawls]");
if (live) {
  const events = new EventSource("/live");
  const note = live.querySelector("[data-live-note]");
  events.addEventListener("crawls", (event) => {
    note.hidden = false;
    for (const crawl of JSON.parse(event.data)) {
      const row = live.querySelector(`[data-crawl="${Number(crawl.id)}"]`);
      for (const cell of row ? row.querySelectorAll("[data-field]") : []) {
        const shown = fields[cell.dataset.field](crawl);
        if (cell.textContent !== shown) {
          cell.textContent = shown;
        }
      }
    }
  });
  events.addEventListener("error", () => { note.hidden = true; });
  window.addEventListener("pagehide", () => events.close());
}
