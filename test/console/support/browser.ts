import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core'

export const CHROMIUM_VARIABLE = 'MILLRACE_TEST_CHROMIUM'

/** False if the global set-up found no browser; it then printed the reason. */
export const HAS_BROWSER = process.env[CHROMIUM_VARIABLE] !== undefined

/** A browser that the caller closes. */
export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: process.env[CHROMIUM_VARIABLE] ?? '',
    // Chromium refuses its sandbox to root; the pages are this repository's.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
}

/** The open contexts, each with the errors and warnings of its pages. */
const opened = new Map<BrowserContext, string[]>()

/** Closes all pages, and returns their errors and warnings. */
export async function closePages(): Promise<readonly string[]> {
  const found = [...opened.values()].flat()
  const contexts = [...opened.keys()]
  opened.clear()
  for (const context of contexts) await context.close()
  return found
}

/** Runs before the scripts of a page. */
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) =>
  reportViolation(event.effectiveDirective + ' ' + event.blockedURI + ' ' + event.sourceFile + ':' + event.lineNumber))`

/**
 * Opens a page in a browser profile of its own. `problems` has the errors of its console, its scripts and its policy.
 */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(60_000)
  const problems: string[] = []
  opened.set(context, problems)
  await context.exposeFunction('reportViolation', (text: string) => problems.push(`policy: ${text}`))
  await context.addInitScript(REPORT_VIOLATIONS)
  const page = await context.newPage()
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('console', (message) => {
    // A refused sign-in is no problem of the page, but Chromium writes every error status to the console.
    const isStatus = message.text().startsWith('Failed to load resource')
    if ((message.type() === 'error' || message.type() === 'warning') && !isStatus)
      problems.push(message.text())
  })
  return { page, problems }
}
