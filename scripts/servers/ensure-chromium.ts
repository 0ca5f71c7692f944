import { findApt, installWithApt } from './apt.ts'
import { findExecutable } from './find-executable.ts'
import { lastErrorLine } from './last-error-line.ts'
import { sayWhile, type Say } from './say.ts'

/**
 * The names under which Chromium may be installed. The headless shell is first: it draws and lays out pages and
 * enforces content security policies with the same code as the others, at a third of their processor time.
 */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
] as const

/** Debian's packages. The second one is used if the first one is not available. */
const PACKAGES = ['chromium-headless-shell', 'chromium'] as const

/**
 * Returns the path of a Chromium: from the PATH, else from Debian's package, which is installed now if this process is
 * root. Returns null if there is none and none can be installed; `say` reports the reason.
 */
export async function ensureChromium({ say }: { say: Say }): Promise<string | null> {
  const found = onPath()
  if (found !== undefined) return found
  const apt = findApt()
  if (apt === undefined) {
    say('there is no chromium on the PATH, and only root can install it with apt-get')
    return null
  }
  try {
    const choices = PACKAGES.map((name) => [name, 'fonts-dejavu-core'])
    await sayWhile(say, `installing Chromium with apt-get (package ${PACKAGES.join(' or ')})`, async () => {
      await installWithApt(apt, choices)
    })
  } catch (error) {
    say(`apt-get could not install Chromium (${lastErrorLine(error)})`)
    return null
  }
  return onPath() ?? null
}

function onPath(): string | undefined {
  return NAMES.map(findExecutable).find((path) => path !== undefined)
}
