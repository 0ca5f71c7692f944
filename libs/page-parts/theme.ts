const KEY = 'millrace-theme'

const NEXT = { auto: 'light', light: 'dark', dark: 'auto' } as const
type Theme = keyof typeof NEXT

/**
 * Applies light or dark colours. They follow the system's setting until the viewer chooses; the choice is stored in
 * this browser.
 */
export function applyTheme(): void {
  const theme = currentTheme()
  if (theme === 'auto') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export function currentTheme(): Theme {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'auto'
}

export function switchTheme(): void {
  localStorage.setItem(KEY, NEXT[currentTheme()])
  applyTheme()
}
