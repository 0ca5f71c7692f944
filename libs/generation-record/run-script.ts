import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Cluster, Redis } from 'ioredis'
import { FAIL_FAST_MS } from '#libs/redis/connect-redis.ts'

export type ScriptName = keyof typeof SCRIPTS

export type RunScript = (
  name: ScriptName,
  keys: readonly string[],
  args: readonly (string | Buffer)[],
) => Promise<unknown>

/**
 * Runs the scripts beside this file by their hash. A server that does not know a script, because it is new or was
 * restarted, receives the script's text in a second call.
 *
 * Node runs timers before it reads sockets. So after a late turn of the event loop, a call whose answer has already
 * arrived may be taken for a time-out. Only in that case the script is called once more, which is safe because scripts
 * may be repeated.
 */
export function createRunScript(redis: Redis | Cluster): RunScript {
  async function run(name: ScriptName, keys: readonly string[], args: readonly (string | Buffer)[]) {
    const script = SCRIPTS[name]
    const rest = [String(keys.length), ...keys, ...args]
    try {
      return await redis.call('EVALSHA', [script.sha, ...rest])
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return await redis.call('EVAL', [script.text, ...rest])
    }
  }

  return async (...call) => {
    const sentMs = performance.now()
    try {
      return await run(...call)
    } catch (error) {
      const isTimeOut = error instanceof Error && error.message === 'Command timed out'
      if (!isTimeOut || performance.now() - sentMs < FAIL_FAST_MS + LATE_MS) throw error
      return await run(...call)
    }
  }
}

/** If a time-out fires this much too late, the event loop was late. */
const LATE_MS = 50

/**
 * While memory is full, Redis refuses every script without `allow-oom` before its first command. So new work is
 * refused, and admitted work goes on.
 */
const SCRIPTS = {
  'first-lift': toScript('', 'shared', 'seats', 'lift'),
  lift: toScript('flags=allow-oom', 'shared', 'seats', 'lift'),
  claim: toScript('flags=allow-oom', 'shared', 'seats', 'claim'),
  settle: toScript('flags=allow-oom', 'shared', 'settle'),
  'count-waiting': toScript('flags=no-writes', 'count-waiting'),
  'settled-of': toScript('flags=no-writes', 'settled-of'),
  'read-mark': toScript('flags=no-writes', 'read-mark'),
}

function toScript(flags: string, ...names: readonly string[]) {
  const parts = names.map((name) => readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8'))
  const text = [`#!lua ${flags}`.trimEnd(), ...parts].join('\n')
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
