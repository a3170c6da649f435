// Requests to the published API of this controller, with the identity that the operator logged in with.
// relative to /ui/, so that it works behind a gateway with a prefix
export const OPERATORS = "../evenkeel/v1";
const STORED = "evenkeel-authorization";

export class ApiError extends Error {
  /** `roles`: any of them would be allowed to, if the policy says so. */
  constructor(status, reason, roles = []) {
    super(reason);
    this.status = status;
    this.roles = roles;
  }
}

/** Milliseconds by which the controller's clock is ahead of the browser's, to a second. */
let ahead = 0;
export const now = () => Date.now() + ahead;

let authorization = JSON.parse(sessionStorage.getItem(STORED) || "{}");

/** Headers of all requests from now on. They are kept for as long as the tab is open. */
export function logIn(headers) {
  authorization = headers;
  sessionStorage.setItem(STORED, JSON.stringify(headers));
}

export function logOut() {
  authorization = {};
  sessionStorage.removeItem(STORED);
  for (const forget of forgetters) forget();
}

const forgetters = [];
/** Calls it when the login of this tab ends. */
export const onLogOut = (forget) => forgetters.push(forget);

export function isLoggedIn() {
  return Object.keys(authorization).length > 0;
}

/** How this tab is logged in: with a password or a token; empty: not at all. */
export const loggedInWith = () => (authorization.Authorization ? "password" : isLoggedIn() ? "token" : "");

/** The scheme, in small letters, of the login that the controller asks for; empty: it asks for none. */
export async function challenge() {
  try {
    const answer = await fetch(`${OPERATORS}/status`, { headers: { Accept: "application/json" }, credentials: "omit", cache: "no-store", signal: AbortSignal.timeout(15000) });
    return (answer.headers.get("WWW-Authenticate") || "").split(/[ ,]/, 1)[0].toLowerCase();
  } catch {
    return "";
  }
}

export function withPassword(name, password) {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  return { Authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
}

export function withToken(token) {
  return { "X-Auth-Token": token };
}

/** Answer of one request. Rejects with ApiError; status 0: no answer. */
export async function request(method, path, body, timeoutMs = 15000) {
  const headers = { Accept: "application/json", ...authorization };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      // the browser's own login dialog must not cover ours
      credentials: "omit",
      cache: "no-store",
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (error) {
    throw new ApiError(0, `no answer from this controller: ${error.message}`);
  }
  noteClock(answer);
  const text = await answer.text();
  const content = text ? parsed(text) : null;
  if (!answer.ok) throw refusal(answer, content);
  return content;
}

function noteClock(answer) {
  const at = Date.parse(answer.headers.get("Date") || "");
  // half a second: the header has whole seconds
  if (at && Math.abs(at + 500 - now()) > 1000) ahead = at + 500 - Date.now();
}

/**
 * Server-sent events, with the identity that EventSource could not send. Calls `told(event)` for each, `at(id)` with the
 * place to go on from, and returns when the stream ends. Rejects with ApiError.
 */
export async function listen(path, lastId, { told, at, signal, silentMs }) {
  const stop = new AbortController();
  const end = () => stop.abort();
  signal.addEventListener("abort", end);
  let timer = setTimeout(end, silentMs);
  try {
    const answer = await fetch(path, {
      headers: { Accept: "text/event-stream", "Last-Event-ID": String(lastId), ...authorization },
      credentials: "omit",
      cache: "no-store",
      signal: stop.signal,
    });
    if (!answer.ok) throw refusal(answer, parsed(await answer.text()));
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(end, silentMs);
      const frames = (rest + value).split("\n\n");
      rest = frames.pop();
      const found = [];
      for (const frame of frames)
        for (const line of frame.split("\n")) {
          if (line.startsWith("id: ")) at(Number(line.slice(4)));
          if (line.startsWith("data: ")) found.push(JSON.parse(line.slice(6)));
        }
      told(found);
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError(0, `no answer from this controller: ${error.message}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    stop.abort();
  }
}

function refusal(answer, content) {
  const roles = (answer.headers.get("X-Needs-Role") || "").split(", ").filter(Boolean);
  return new ApiError(answer.status, reasonOf(content) || `HTTP ${answer.status}`, roles);
}

/** What it resolves to; where the login may not read it, `{ refused: error }`. */
export const orRefused = (asked) =>
  asked.catch((error) => {
    if (error.status !== 403) throw error;
    return { refused: error };
  });

export const post = (path, body, timeoutMs) => request("POST", path, body, timeoutMs);
export const get = (path) => request("GET", path);
export const put = (path, body) => request("PUT", path, body);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function reasonOf(content) {
  return content && (content.faultstring || content.reason || (content.error && content.error.message) || content.description || content.message || content.detail || content.title);
}
