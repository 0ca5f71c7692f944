/** Asks whether billing accepts a token of an operator or of a session. */
export type CheckViewer = (token: string) => Promise<'accepted' | 'refused' | 'not-known'>

/**
 * The time for which billing's answer about a viewer's token is reused. A viewer's page makes several requests at once,
 * at its start and after each reconnect.
 */
const KNOWN_MS = 5_000
/**
 * The largest number of viewers' tokens for which the console keeps billing's answer. Refusals are kept too, so that
 * repeated tries with a wrong token do not reach billing.
 */
const MOST_KNOWN = 1_000

/**
 * Creates the check of a viewer's token. The check asks billing and reuses the answer for 5 s. So 5 s after the end of
 * a session, no new stream opens for it. An open stream is closed within 20 s of that end (`serve-live.ts`). An answer
 * is never used for longer than 5 s, even while billing is unreachable.
 */
export function createCheckViewer(deps: {
  /** Requests billing's `/whoami` with the token and returns the HTTP status. Rejects if billing does not answer. */
  askWhoami: (token: string) => Promise<number>
  nowMs: () => number
}): CheckViewer {
  const { askWhoami, nowMs } = deps
  const known = new Map<string, { atMs: number; answer: ReturnType<CheckViewer> }>()

  async function ask(token: string): Promise<'accepted' | 'refused' | 'not-known'> {
    try {
      const status = await askWhoami(token)
      if (status === 200) return 'accepted'
      return status === 401 || status === 403 ? 'refused' : 'not-known'
    } catch {
      return 'not-known'
    }
  }

  return async (token) => {
    const now = nowMs()
    const last = known.get(token)
    if (last !== undefined && now - last.atMs < KNOWN_MS) return await last.answer
    for (const [other, { atMs }] of known) if (now - atMs >= KNOWN_MS) known.delete(other)
    const answer = ask(token)
    if (known.size < MOST_KNOWN) known.set(token, { atMs: now, answer })
    return await answer
  }
}
