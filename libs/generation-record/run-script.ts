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
 * Runs the scripts of the folder `scripts` by their hash. A script may be unknown to a server, because the server is
 * new or was restarted. The server then receives the script's text in a second call.
 *
 * Node runs timers before it reads sockets. So if the event loop was blocked, a call can time out although its answer
 * has already arrived. A time-out that fires much too late is a sign of this. Only then the script is called once more,
 * which is safe because scripts may be repeated.
 */
export function createRunScript(redis: Redis | Cluster): RunScript {
  async function run(name: ScriptName, keys: readonly string[], args: readonly (string | Buffer)[]) {
    const script = SCRIPTS[name]
    const rest = [String(keys.length), ...keys, ...args]
    try {
      return await redis.call(`EVALSHA${script.suffix}`, [script.sha, ...rest])
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return await redis.call(`EVAL${script.suffix}`, [script.text, ...rest])
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

/** A time-out that fires this many ms too late shows that the event loop was blocked. */
const LATE_MS = 50

/**
 * While memory is full, Redis refuses to begin a script that may write, unless the script has `allow-oom`. Of the
 * scripts that may write, only `first-enqueue` lacks this flag, so new work is refused, and admitted work goes on.
 */
const SCRIPTS = {
  'first-enqueue': toScript('', 'shared', 'seats', 'enqueue'),
  enqueue: toScript('flags=allow-oom', 'shared', 'seats', 'enqueue'),
  claim: toScript('flags=allow-oom', 'shared', 'seats', 'claim'),
  settle: toScript('flags=allow-oom', 'shared', 'settle'),
  'count-waiting': toScript('flags=no-writes', 'count-waiting'),
  'settled-of': toScript('flags=no-writes', 'settled-of'),
  'read-mark': toScript('flags=no-writes', 'read-mark'),
}

function toScript(flags: string, ...names: readonly string[]) {
  const parts = names.map((name) => readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8'))
  const text = [`#!lua ${flags}`.trimEnd(), ...parts].join('\n')
  // The user of a process may have no right to write the keys that it reads.
  const suffix = flags === 'flags=no-writes' ? '_RO' : ''
  return { text, suffix, sha: createHash('sha1').update(text).digest('hex') }
}
