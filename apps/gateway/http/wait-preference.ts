import type { IncomingHttpHeaders } from 'node:http'

/**
 * Returns how long a client is willing to wait for a model that is being started, in seconds and at most `longestS`;
 * null if it does not ask to wait.
 *
 * `Prefer: wait=N` (RFC 7240, section 4.3) names the seconds. A preference never makes a request fail: preferences
 * other than `wait` are ignored, and so is a `wait` that is not a whole number above 0. If `wait` is given more than
 * once, the first one counts. `X-Wait-For-Model: 1` (or `true`) asks for the longest wait, and counts only where
 * `Prefer` has no `wait`.
 */
export function readWaitPreference(headers: IncomingHttpHeaders, longestS: number): number | null {
  const preference = findWait(headers['prefer'])
  const askedS =
    preference === null ? toLongest(headers['x-wait-for-model'], longestS) : toSeconds(preference)
  const waitS = Math.min(askedS, longestS)
  return waitS > 0 ? waitS : null
}

/** Returns the text of the first preference that is named `wait`; null if there is none. */
function findWait(header: string | string[] | undefined): string | null {
  if (typeof header !== 'string') return null
  return (
    splitPreferences(header).find((preference) => /^[ \t]*wait[ \t]*(?:[=;]|$)/iu.test(preference)) ?? null
  )
}

/** Splits the list at commas that are outside quoted strings, in one pass, because the header may be 16 KiB long. */
function splitPreferences(header: string): string[] {
  const preferences: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at < header.length; at += 1) {
    const character = header[at]
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted && character === '\\') at += 1
    else if (!isQuoted && character === ',') {
      preferences.push(header.slice(start, at))
      start = at + 1
    }
  }
  preferences.push(header.slice(start))
  return preferences
}

/** Returns 0 for a value that is not a whole number. A value may be quoted, and parameters may follow it. */
function toSeconds(preference: string): number {
  const value = /^[ \t]*wait[ \t]*=[ \t]*(?:(\d+)|"(\d+)")[ \t]*(?:;|$)/iu.exec(preference)
  return Number(value?.[1] ?? value?.[2] ?? 0)
}

function toLongest(header: string | string[] | undefined, longestS: number): number {
  return header === '1' || (typeof header === 'string' && header.toLowerCase() === 'true') ? longestS : 0
}
