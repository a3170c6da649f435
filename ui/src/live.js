// What the views show is read again when something happened, and every ten seconds.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { OPERATORS, get } from "./api.js";

const EVENTS_EVERY_MS = 1000;
const READ_EVERY_MS = 10000;
const EVENTS_KEPT = 200;

/** New events since the page was opened, newest first; asked for once a second while the page is visible. */
export function useEvents(enabled) {
  const [state, setState] = useState({ events: [], error: null, newest: 0 });
  useEffect(() => {
    if (!enabled) return undefined;
    let stopped = false;
    let newest = null;
    let timer;
    async function look() {
      try {
        if (!document.hidden || newest === null) {
          const query = newest === null ? "limit=100&newest=true" : `after=${newest}&limit=100`;
          const found = (await get(`${OPERATORS}/events?${query}`)).events;
          if (stopped) return;
          if (newest === null || found.length) {
            newest = found.length ? found[found.length - 1].id : newest || 0;
            const latest = newest;
            setState((was) => ({
              events: [...found.slice().reverse(), ...was.events].slice(0, EVENTS_KEPT),
              error: null,
              newest: latest,
            }));
          } else setState((was) => (was.error ? { ...was, error: null } : was));
        }
      } catch (error) {
        if (!stopped) setState((was) => ({ ...was, error }));
      }
      if (!stopped) timer = setTimeout(look, EVENTS_EVERY_MS);
    }
    look();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [enabled]);
  return state;
}

/** Data of `read`, read again whenever `newest` (the number of the newest event) changes. */
export function useData(read, newest, dependencies = []) {
  const [state, setState] = useState({ data: null, error: null });
  const turn = useRef(0);
  const again = useCallback(async () => {
    const mine = ++turn.current;
    try {
      const data = await read();
      if (mine === turn.current) setState({ data, error: null });
    } catch (error) {
      if (mine === turn.current) setState((was) => ({ ...was, error }));
    }
  }, dependencies);
  useEffect(() => {
    again();
    const timer = setInterval(() => document.hidden || again(), READ_EVERY_MS);
    return () => {
      turn.current += 1;
      clearInterval(timer);
    };
  }, [again, newest]);
  return { ...state, again };
}
