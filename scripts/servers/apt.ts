import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findExecutable } from './find-executable.ts'

const run = promisify(execFile)

/**
 * The longest wait for another package manager that is running, in seconds. A fresh machine, for example, installs its
 * updates when it starts.
 */
const LOCK_LIMIT_S = 60
const UPDATE_LIMIT_MS = 120_000
const INSTALL_LIMIT_MS = 600_000
const MAX_OUTPUT_BYTES = 16 << 20

const ENV = { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }

type AptOptions = {
  signal?: AbortSignal | undefined
  /** The pause between two tries to update the lists. */
  pauseMs?: number
}

/** Returns the path of apt-get if this process may install packages, which needs root. */
export function findApt(): string | undefined {
  return process.getuid?.() === 0 ? findExecutable('apt-get') : undefined
}

/**
 * Updates the package lists, then installs the first of `choices` that can be installed. Each choice is a list of
 * packages that are installed together. If another package manager is running, each of the two steps waits for it, at
 * most about `LOCK_LIMIT_S`. Rejects if none of the choices can be installed.
 */
export async function installWithApt(
  apt: string,
  choices: readonly (readonly string[])[],
  { signal, pauseMs = 2_000 }: AptOptions = {},
): Promise<void> {
  const env = { ...process.env, ...ENV }
  await updateLists()
  let failure: unknown
  for (const packages of choices) {
    try {
      const lock = ['-o', `DPkg::Lock::Timeout=${LOCK_LIMIT_S}`]
      await run(apt, ['install', '-y', '-q', '--no-install-recommends', ...lock, ...packages], {
        env,
        // `signal` does not end the installation, because an interrupted one would have to be repaired by hand.
        timeout: INSTALL_LIMIT_MS,
        maxBuffer: MAX_OUTPUT_BYTES,
      })
      return
    } catch (error) {
      signal?.throwIfAborted()
      failure = error
    }
  }
  throw failure

  /**
   * Updates the package lists. If another program has the lock of the lists, the update is repeated, because apt does
   * not wait for this lock. If the update fails for another reason, or the lock is not free within about
   * `LOCK_LIMIT_S`, the old lists are used.
   */
  async function updateLists(): Promise<void> {
    const tries = Math.ceil((LOCK_LIMIT_S * 1_000) / pauseMs)
    for (let left = tries; left > 0; left -= 1) {
      try {
        await run(apt, ['update', '-q'], {
          env,
          signal,
          timeout: UPDATE_LIMIT_MS,
          maxBuffer: MAX_OUTPUT_BYTES,
        })
        return
      } catch (error) {
        signal?.throwIfAborted()
        if (!String(error).includes('Could not get lock')) return
        await sleep(pauseMs, undefined, { signal })
      }
    }
  }
}
