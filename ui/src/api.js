// Requests to the published API of this controller, with the identity that the operator logged in with.
// relative to /ui/, so that it works behind a gateway with a prefix
export const OPERATORS = "../evenkeel/v1";
const STORED = "evenkeel-authorization";

export class ApiError extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

let authorization = JSON.parse(sessionStorage.getItem(STORED) || "{}");

/** Headers of all requests from now on. They are kept for as long as the tab is open. */
export function logIn(headers) {
  authorization = headers;
  sessionStorage.setItem(STORED, JSON.stringify(headers));
}

export function logOut() {
  authorization = {};
  sessionStorage.removeItem(STORED);
}

export function isLoggedIn() {
  return Object.keys(authorization).length > 0;
}

export function withPassword(name, password) {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  return { Authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
}

export function withToken(token) {
  return { "X-Auth-Token": token };
}

/** Answer of one request. Rejects with ApiError; status 0: no answer. */
export async function request(method, path, body) {
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
      signal: AbortSignal.timeout(15000),
    });
  } catch (error) {
    throw new ApiError(0, `no answer from this controller: ${error.message}`);
  }
  const text = await answer.text();
  const content = text ? parsed(text) : null;
  if (!answer.ok) throw new ApiError(answer.status, reasonOf(content) || `HTTP ${answer.status}`);
  return content;
}

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
  return content && (content.faultstring || content.reason || (content.error && content.error.message) || content.detail);
}
