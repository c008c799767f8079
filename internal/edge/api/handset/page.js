"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const number = document.body.dataset.number;
  const base = "/v1/handset/" + encodeURIComponent(number);
  const needsKey = document.body.dataset.key === "needed";
  const shelf = "einmal.key"; // sessionStorage: this tab alone, gone when it is closed
  let last = 0;
  let round = 0; // a new key ends the round that was under way

  const headers = () => {
    const all = {"Content-Type": "application/json"};
    if (needsKey) all.Authorization = "Bearer " + sessionStorage.getItem(shelf);
    return all;
  };

  const say = (text) => { byId("notice").textContent = text; };

  const askForKey = (why) => {
    sessionStorage.removeItem(shelf);
    say(why);
    byId("key").hidden = false;
    byId("answer").hidden = true;
    byId("key-text").focus();
  };

  const words = async (response) => {
    const problem = await response.json().catch(() => ({}));
    const fields = (problem.errors || []).map((e) => e.detail);
    return [problem.title || "Status " + response.status, ...(fields.length ? fields : [problem.detail])].filter(Boolean).join(": ");
  };

  const bubble = (text, when, sent) => {
    const item = document.createElement("li");
    const body = document.createElement("p");
    const line = document.createElement("p");
    if (sent) item.className = "sent";
    body.className = "text";
    body.textContent = text;
    line.className = "when";
    line.textContent = when;
    item.append(body, line);
    byId("messages").append(item);
    item.scrollIntoView({block: "end"});
  };

  const clock = (stamp) => new Date(stamp).toLocaleTimeString();

  const show = (messages) => {
    for (const m of messages) {
      last = m.n;
      const parts = m.parts > 1 ? ", " + m.parts + " parts" : "";
      bubble(m.text, m.from + " · " + clock(m.at) + parts, false);
      if (/^\+?\d{3,15}$/.test(m.from)) byId("to").value = m.from;
    }
    byId("empty").hidden = byId("messages").childElementCount > 0;
  };

  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  const follow = async (mine) => {
    let wait = ""; // the first answer comes at once
    while (mine === round) {
      let response;
      try {
        response = await fetch(base + "?after=" + last + wait, {headers: headers()});
      } catch {
        say("The gateway does not answer. Trying again.");
        await pause(2000);
        continue;
      }
      if (mine !== round) return;
      if (response.status === 401 || response.status === 403) return askForKey(await words(response));
      if (!response.ok) {
        say(await words(response));
        await pause(5000);
        continue;
      }
      say("");
      byId("key").hidden = true;
      byId("answer").hidden = false;
      show((await response.json()).data);
      wait = "&wait=25s";
    }
  };

  byId("key").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(shelf, byId("key-text").value.trim());
    byId("key-text").value = "";
    follow(++round);
  });

  byId("answer").addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = byId("text").value;
    const happened = byId("happened");
    happened.textContent = "Sending…";
    try {
      const body = JSON.stringify({text, to: byId("to").value.trim()});
      const response = await fetch(base + "/reply", {method: "POST", headers: headers(), body});
      if (!response.ok) {
        happened.textContent = await words(response);
        return;
      }
      const reply = await response.json();
      happened.textContent = reply.what_happened; // first: it takes room from the messages
      bubble(text, "to " + reply.to + " · " + clock(Date.now()), true);
      byId("text").value = "";
    } catch {
      happened.textContent = "The gateway does not answer: it is not known whether it has this.";
    }
  });

  if (needsKey && !sessionStorage.getItem(shelf)) askForKey("");
  else follow(++round);
})();
