import { findApt, installWithApt } from './apt.ts'
import { findExecutable } from './find-executable.ts'
import { lastErrorLine } from './last-error-line.ts'
import { sayWhile, type Say } from './say.ts'

/**
 * The headless shell is first: it draws, lays out and enforces policies with the same code as the other programs, at a
 * third of their processor time.
 */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
] as const

/** Debian's packages; the second is used if the first is not available. */
const PACKAGES = ['chromium-headless-shell', 'chromium'] as const

/**
 * Returns the path of a Chromium of this machine: the one on the PATH, else Debian's, which is installed now if this
 * process is root. Returns null if there is none and none can be installed; the reason is reported to `say`.
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
