/** Whether billing accepts this token, an operator's or a session's. */
export type CheckViewer = (token: string) => Promise<'accepted' | 'refused' | 'not-known'>

/** A viewer asks several times at once, and again after each reconnect. */
const KNOWN_MS = 5_000
/** A refusal too, so that a wrong token does not reach billing with each try. */
const MOST_KNOWN = 1_000

/**
 * Asks billing, and remembers the answer for 5 s. A session that has ended opens nothing after that time; a stream that it
 * has open ends within 20 s (`serve-live.ts`). While billing does not answer, what it said last holds no longer.
 */
export function createCheckViewer(deps: {
  /** Billing's HTTP status for the question who the sender of this token is. Rejects when it does not answer. */
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
