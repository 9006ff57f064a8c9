// The page of derivatives shows the article of the chosen link. Without this script, it shows all articles.
{
  const links = [...document.querySelectorAll(".derivatives nav a")];
  const show = (link) => {
    for (const each of links) {
      const chosen = each === link;
      document.querySelector(each.hash).hidden = !chosen;
      each.tabIndex = chosen ? 0 : -1;
      each.setAttribute("aria-current", chosen);
    }
    const list = link.parentElement;
    const top = link.offsetTop - list.offsetTop;
    const isSeen = list.scrollTop <= top && top + link.offsetHeight <= list.scrollTop + list.clientHeight;
    if (!isSeen) list.scrollTop = top - list.clientHeight / 2;
  };
  const named = () => links.find((link) => link.hash === location.hash) || links[0];
  const choose = (link) => {
    history.replaceState(null, "", link.hash);
    show(link);
    link.focus({ preventScroll: true });
  };
  const steps = { ArrowDown: 1, ArrowUp: -1, Home: -links.length, End: links.length };
  for (const [at, link] of links.entries()) {
    link.addEventListener("click", (event) => { event.preventDefault(); choose(link); });
    link.addEventListener("keydown", (event) => {
      if (!(event.key in steps)) return;
      event.preventDefault();
      choose(links[Math.min(Math.max(at + steps[event.key], 0), links.length - 1)]);
    });
  }
  addEventListener("hashchange", () => links.length && show(named()));
  if (links.length) {
    show(named());
    document.body.dataset.ready = "true";
  }
}
