// Searches the entries of search-data.js: sections that have each word of the query at the beginning of a word of theirs.
"use strict";

const fold = text => text.toLowerCase();
// atWord returns a pattern of words that begin with one of these.
const atWord = (words, flags) =>
  new RegExp("(?<![a-z0-9])(" + words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", flags);

// search returns the sections that have all words, best first: words in titles and headings count most.
function search(query) {
  const words = fold(query).split(/\s+/).filter(word => word);
  if (words.length === 0) return [];
  const patterns = words.map(word => atWord([word], "g"));
  const phrase = words.join(" ");
  const found = [];
  for (const e of entries) {
    const title = fold(e.t), heading = fold(e.h || ""), text = fold(e.x);
    let score = 0;
    const all = words.every((word, i) => {
      const count = where => (where.match(patterns[i]) || []).length;
      const inText = Math.min(count(text), 5) / (1 + text.length / 5000);
      const points = 20 * Math.min(count(title), 1) * (e.h ? 0.5 : 1) + 15 * Math.min(count(heading), 1) + inText;
      score += points;
      return points > 0;
    });
    if (!all) continue;
    score *= e.w;
    if ((e.h ? heading : title) === phrase) score += 100;
    if (words.length > 1 && (title + " " + heading + " " + text).includes(phrase)) score += 20;
    found.push({ e, score });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, 50).map(f => f.e);
}

// marked returns a part of the text around the first word, as nodes, with the words marked.
function marked(text, query) {
  const words = query.split(/\s+/).filter(word => word);
  const at = text.search(atWord(words, "i"));
  const from = at < 60 ? 0 : text.indexOf(" ", at - 60) + 1;
  const part = (from ? "… " : "") + text.slice(from, from + 220) + (text.length > from + 220 ? " …" : "");
  return part.split(atWord(words, "i")).map((piece, i) => {
    if (i % 2 === 0) return document.createTextNode(piece);
    const mark = document.createElement("mark");
    mark.textContent = piece;
    return mark;
  });
}

function show(query) {
  const found = search(query);
  document.getElementById("found").textContent = !query.trim() ? "Type some words above." :
    found.length === 0 ? "No section has all these words." : found.length === 50 ? "The best 50 sections:" :
      found.length === 1 ? "1 section:" : found.length + " sections:";
  document.getElementById("results").replaceChildren(...found.map(e => {
    const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("p");
    link.href = e.u;
    link.textContent = e.h ? e.t + " › " + e.h : e.t;
    text.append(...marked(e.x, query));
    item.append(link, text);
    return item;
  }));
}

const box = document.querySelector("input[type=search]");
box.value = new URLSearchParams(location.search).get("q") || "";
box.addEventListener("input", () => {
  show(box.value);
  history.replaceState(null, "", "?q=" + encodeURIComponent(box.value));
});
show(box.value);
box.focus();
