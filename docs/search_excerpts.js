// The search shows where words occur, from texts that the site brings along: Sphinx would fetch the pages, which a
// browser forbids where the site is opened as files.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = true;
window.fetch = url => {
  const name = url.replace(/^(\.\/)+/, "").replace(/\.html.*$/, "");
  const page = document.createElement("div");
  page.setAttribute("role", "main");
  page.textContent = page_texts[name] || "";
  return Promise.resolve({text: () => Promise.resolve(page.outerHTML)});
};
