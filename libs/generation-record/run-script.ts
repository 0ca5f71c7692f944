import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'

export type ScriptName = 'admit' | 'open' | 'claim' | 'cancel' | 'raise' | 'settle'

export type RunScript = (
  name: ScriptName,
  keys: readonly string[],
  args: readonly (string | Buffer)[],
) => Promise<unknown>

/**
 * Runs the scripts beside this file by their hash; a server that does not know one (a new or restarted server) receives
 * its text with the call. Replies contain Buffers, because a compressed request is not text.
 */
export function createRunScript(redis: Redis): RunScript {
  return async (name, keys, args) => {
    const script = SCRIPTS[name]
    try {
      return await redis.callBuffer('EVALSHA', [script.sha, String(keys.length), ...keys, ...args])
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return await redis.callBuffer('EVAL', [script.text, String(keys.length), ...keys, ...args])
    }
  }
}

const SCRIPTS = {
  admit: readScript('admit'),
  open: readScript('open'),
  claim: readScript('claim'),
  cancel: readScript('cancel'),
  raise: readScript('raise'),
  settle: readScript('settle'),
} as const satisfies Record<ScriptName, { text: string; sha: string }>

function readScript(name: ScriptName) {
  const text = readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8')
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
