import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { SEEN_SEPARATOR } from '#test/fixtures/stepped-clock/seen-separator.ts'
import { scratchFolder } from './run-folder.ts'

const PRELOAD = fileURLToPath(new URL('../fixtures/stepped-clock/preload.ts', import.meta.url))

/** A wall clock for the apps that are started with `env`: see `test/fixtures/stepped-clock/preload.ts`. */
export type SteppedClock = {
  readonly env: { readonly NODE_OPTIONS: string; readonly CLOCK_FILE: string }
  /** Resolves when every running app with this clock has the new time. */
  setAhead(ms: number): Promise<void>
}

export function createSteppedClock(aheadMs = 0): SteppedClock {
  const file = join(scratchFolder('clock'), 'clock')
  write(aheadMs)

  /** Replaces the file in one step, so that a reader sees either the old or the new text. */
  function write(ms: number) {
    writeFileSync(`${file}.new`, String(ms))
    renameSync(`${file}.new`, file)
  }

  function behind(ms: number): string[] {
    const [folder, prefix] = [dirname(file), `${basename(file)}${SEEN_SEPARATOR}`]
    const seen = readdirSync(folder).filter((name) => name.startsWith(prefix))
    if (seen.length === 0) throw new Error('no app was started with this clock')
    return seen.filter(
      (name) =>
        isRunning(Number(name.slice(prefix.length))) &&
        readFileSync(join(folder, name), 'utf8') !== String(ms),
    )
  }

  return {
    env: { NODE_OPTIONS: `--import=${pathToFileURL(PRELOAD).href}`, CLOCK_FILE: file },
    async setAhead(ms) {
      write(ms)
      while (behind(ms).length > 0) await sleep(20)
    },
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
