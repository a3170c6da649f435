// The view and what it is asked for are in the part of the URL behind the #, so that Back, reloads and links keep them.
import { useEffect, useState } from "preact/hooks";

const MOVED = "evenkeel-moved";

function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a % that somebody typed
  }
}

export function useRoute() {
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const changed = () => setRoute(read());
    for (const kind of ["hashchange", MOVED]) addEventListener(kind, changed);
    return () => {
      for (const kind of ["hashchange", MOVED]) removeEventListener(kind, changed);
    };
  }, []);
  return route;
}

/** The link to a view with these questions; empty ones are left out. */
export function linkTo(view, query = {}) {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  return `#/${view}${asked.size ? `?${asked}` : ""}`;
}

/** Goes there. `instead`: of the place where we are, which Back then skips. */
export function goTo(link, { instead = false } = {}) {
  history[instead ? "replaceState" : "pushState"](null, "", link);
  dispatchEvent(new Event(MOVED));
}
