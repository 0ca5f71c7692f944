import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findExecutable } from './find-executable.ts'
import { lastErrorLine } from './last-error-line.ts'
import { sayWhile, type Say } from './say.ts'

const run = promisify(execFile)

/** The headless shell draws, lays out and enforces policies with the code of the others, at a third of their processor time. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
] as const

/** Of Debian: the second where the first is not to be had. */
const PACKAGES = ['chromium-headless-shell', 'chromium'] as const

/**
 * The path of a Chromium of this machine: the one on the PATH, else Debian's (as root), installed now. Null where there is
 * none and none can be installed; the reason is reported to `say`.
 */
export async function ensureChromium({ say }: { say: Say }): Promise<string | null> {
  const found = onPath()
  if (found !== undefined) return found
  const apt = findExecutable('apt-get')
  if (process.getuid?.() !== 0 || apt === undefined) {
    say('there is no chromium on the PATH, and only root can install it with apt-get')
    return null
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = async (name: string) => {
    const packages = [name, 'fonts-dejavu-core']
    await run(apt, ['install', '-y', '-q', '--no-install-recommends', ...packages], {
      env,
      timeout: 600_000,
      maxBuffer: 16 << 20,
    })
  }
  try {
    const [shell, whole] = PACKAGES
    await sayWhile(say, `installing Chromium with apt-get (package ${shell} or ${whole})`, async () => {
      await run(apt, ['update', '-q'], { env, timeout: 120_000 }).catch(() => {})
      await install(shell).catch(async () => await install(whole))
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
