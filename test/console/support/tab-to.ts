import type { Page } from 'playwright-core'

/** Presses Tab until the element with this name has the focus. Throws if no element with this name gets the focus. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let steps = 0; steps < 60; steps += 1) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate<string>(
      `(() => { const e = document.activeElement; return (e.getAttribute('aria-label') ?? e.textContent ?? '').trim() })()`,
    )
    if (focused === name) return
  }
  throw new Error(`Tab does not reach ${name}`)
}
