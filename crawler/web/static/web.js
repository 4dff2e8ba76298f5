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

const live = document.querySelector("[data-live=crawls]");
if (live) {
  const events = new EventSource("/live");
  const note = live.querySelector("[data-live-note]");
  events.addEventListener("crawls", (event) => {
    note.hidden = false;
    for (const crawl of JSON.parse(event.data)) {
      const row = live.querySelector(`[data-crawl="${Number(crawl.id)}"]`);
      for (const cell of row ? row.querySelectorAll("[data-field]") : []) {
        const shown = crawl[cell.dataset.field].toLocaleString("en");
        if (cell.textContent !== shown) {
          cell.textContent = shown;
        }
      }
    }
  });
  events.addEventListener("error", () => { note.hidden = true; });
  window.addEventListener("pagehide", () => events.close());
}
