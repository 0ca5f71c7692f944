import type { Logger } from '#libs/telemetry/logger.ts'

/** Whether this process may take work; it runs what it has all the same. */
export type Cordon = {
  isCordoned(): boolean
  /** The term of the scaler whose cordon lasts; null when none does. */
  term(): number | null
  /** A scaler's cordon lasts `forMs` unless it is renewed; an operator's (`term` null) until `uncordon(null)`. */
  cordon(term: number | null, forMs: number | null): void
  /** Ends the cordon of this term or an earlier one; with null the operator's. */
  uncordon(term: number | null): void
  /** Ends the timer of a cordon that lasts. */
  close(): void
}

/** A scaler renews its cordons each second, so after this time without a message its term is over. */
const TERM_MS = 60_000

/**
 * The cordon of this process, for all of its engines. There are two, each ended only by those who set it: an operator's,
 * and a scaler's, which ends by itself, because a scaler may die. Of several scalers the one with the highest term is
 * obeyed: messages of lower terms are those of a scaler that has lost its lead. After a minute without a message a
 * lower term counts again: a queue Redis that lost its data numbers terms from the start.
 *
 * `onChange` is called when the process becomes cordoned, or is no longer.
 */
export function createCordon(deps: { onChange: () => void; nowMs: () => number; log: Logger }): Cordon {
  const { onChange, nowMs, log } = deps
  let byOperator = false
  /** Of the scaler whose message came last; `timer` runs while its cordon lasts. */
  let scaler: { term: number; receivedMs: number; timer: NodeJS.Timeout | null } | null = null
  let cordoned = false

  function update(reason: string) {
    const next = byOperator || (scaler?.timer ?? null) !== null
    if (next === cordoned) return
    cordoned = next
    log.info({ cordoned, reason, term: scaler?.term }, 'cordon changed')
    onChange()
  }

  /** The message is obeyed: `forMs` from now its cordon ends, or at once. */
  function obey(term: number, forMs: number | null) {
    if (scaler?.timer) clearTimeout(scaler.timer)
    const timer = forMs === null ? null : setTimeout(() => expire(term), forMs)
    scaler = { term, receivedMs: nowMs(), timer }
  }

  function expire(term: number) {
    if (scaler?.term === term) scaler.timer = null
    update('not renewed')
  }

  function isOutdated(term: number): boolean {
    if (scaler === null || term >= scaler.term) return false
    return scaler.timer !== null || nowMs() - scaler.receivedMs < TERM_MS
  }

  return {
    isCordoned: () => cordoned,
    term: () => (scaler !== null && scaler.timer !== null ? scaler.term : null),
    cordon(term, forMs) {
      if (term === null) byOperator = true
      else if (isOutdated(term)) return
      else obey(term, forMs)
      update(term === null ? 'by an operator' : 'by a scaler')
    },
    uncordon(term) {
      if (term === null) byOperator = false
      else if (isOutdated(term)) return
      else obey(term, null)
      update(term === null ? 'by an operator' : 'by a scaler')
    },
    close() {
      if (scaler?.timer) clearTimeout(scaler.timer)
    },
  }
}
