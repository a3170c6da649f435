// Light or dark: as the system has it, unless this browser was told otherwise.
const STORED = "evenkeel-theme";
export const THEMES = ["system", "light", "dark"];

export function theme() {
  const stored = localStorage.getItem(STORED);
  return THEMES.includes(stored) ? stored : "system";
}

export function setTheme(name) {
  localStorage.setItem(STORED, name);
  document.documentElement.dataset.theme = name;
}

document.documentElement.dataset.theme = theme();
