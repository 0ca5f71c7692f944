import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Repeats `ask` until it resolves, with pauses that double from `firstPauseMs` to `lastPauseMs`. When `ask` rejects and
 * `giveUp` returns true, rejects with the error of `ask`. `onFailure` is called with each earlier error of `ask`.
 */
export async function untilAnswered<Answer>(
  ask: () => Promise<Answer>,
  options: {
    firstPauseMs: number
    lastPauseMs: number
    giveUp?: () => boolean
    onFailure?: (error: unknown) => void
  },
): Promise<Answer> {
  const { firstPauseMs, lastPauseMs, giveUp, onFailure } = options
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(lastPauseMs, pauseMs * 2)) {
    try {
      return await ask()
    } catch (error) {
      if (giveUp?.() === true) throw error
      onFailure?.(error)
    }
    await sleep(pauseMs)
  }
}
