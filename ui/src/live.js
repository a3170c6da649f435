// What the views show is read again when something happened, and every ten seconds.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { OPERATORS, get, listen, now } from "./api.js";

const READ_EVERY_MS = 10000;
const READ_PAUSE_MS = 2000; // many events in a row are one reason to read
const EVENTS_KEPT = 200;
const FIRST = 100;
const SILENT_MS = 40000; // the stream has a comment every 15 s
const RETRY_MS = [1000, 1000, 2000, 5000];

/** Events, newest first: the last ones, and those that happen, by a stream that goes on where it was after a break. */
export function useEvents() {
  const [state, setState] = useState({ events: [], error: null, newest: 0, connected: false });
  useEffect(() => {
    const leaving = new AbortController();
    let stream = null;
    // browsers open six connections to a host at a time, for all tabs: hidden ones leave theirs to the others
    const hide = () => document.hidden && stream && stream.abort();
    document.addEventListener("visibilitychange", hide);
    leaving.signal.addEventListener("abort", () => {
      document.removeEventListener("visibilitychange", hide);
      if (stream) stream.abort();
    });
    let place = null;
    let failures = 0;
    const told = (found) => {
      failures = 0;
      setState((was) => merged(was, found));
    };
    async function follow() {
      while (!leaving.signal.aborted) {
        await visible();
        if (leaving.signal.aborted) return;
        stream = new AbortController();
        try {
          if (place === null) {
            const found = (await get(`${OPERATORS}/events?limit=${FIRST}&newest=true`)).events;
            // from before them: one whose id is smaller may still come
            place = found.length ? found[0].id - 1 : 0;
            told(found);
          }
          await listen(`${OPERATORS}/events`, place, {
            told,
            at: (id) => (place = id),
            signal: stream.signal,
            silentMs: SILENT_MS,
          });
        } catch (error) {
          if (leaving.signal.aborted) return;
          if (stream.signal.aborted) continue;
          setState((was) => ({ ...was, error, connected: false }));
          if (error.status === 401 || error.status === 403) return;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]));
      }
    }
    follow();
    return () => leaving.abort();
  }, []);
  return state;
}

/** Resolves when the page can be seen. */
function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

function merged(was, found) {
  const known = new Set(was.events.map((event) => event.id));
  const fresh = found.filter((event) => !known.has(event.id));
  if (!fresh.length && was.connected && !was.error) return was;
  const events = [...fresh, ...was.events].sort((one, other) => other.id - one.id).slice(0, EVENTS_KEPT);
  return { events, error: null, connected: true, newest: was.newest + fresh.length };
}

/** Data of `read`, read again whenever `turn` changes. `at`: when it was read. */
export function useData(read, turn, dependencies = []) {
  const [state, setState] = useState({ data: null, error: null, at: 0 });
  const number = useRef(0);
  const last = useRef(0);
  const again = useCallback(async () => {
    const mine = ++number.current;
    last.current = Date.now();
    try {
      const data = await read();
      if (mine === number.current) setState({ data, error: null, at: now() });
    } catch (error) {
      if (mine === number.current) setState((was) => ({ ...was, error }));
    }
  }, dependencies);
  useEffect(() => {
    last.current = 0;
    return () => {
      number.current += 1;
    };
  }, [again]);
  useEffect(() => {
    const soon = setTimeout(again, Math.max(0, last.current + READ_PAUSE_MS - Date.now()));
    const timer = setInterval(() => document.hidden || again(), READ_EVERY_MS);
    return () => {
      clearTimeout(soon);
      clearInterval(timer);
    };
  }, [again, turn]);
  return { ...state, again };
}
