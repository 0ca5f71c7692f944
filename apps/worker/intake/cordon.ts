import type { Logger } from '#libs/telemetry/logger.ts'

/** Decides whether this process may take work. A cordoned process still runs the work that it has. */
export type Cordon = {
  isCordoned(): boolean
  /**
   * The term of the scaler whose cordon is in force; null if no scaler's cordon is in force. A scaler gets a term, a
   * number, when it takes the lead; each new term is higher than all terms before.
   */
  term(): number | null
  /**
   * A scaler's cordon lasts `forMs` unless it is renewed. An operator's cordon (`term` null) lasts until
   * `uncordon(null)`.
   */
  cordon(term: number | null, forMs: number | null): void
  /** Ends a scaler's cordon of this term or an earlier term; with null, the operator's cordon. */
  uncordon(term: number | null): void
  /** Stops the timer of the scaler's cordon. */
  close(): void
}

/**
 * Bounds how long messages with a lower term are ignored. If a message has a lower term than the last obeyed message,
 * it is ignored in two cases: a scaler's cordon is in force, or less than this time has passed since the last obeyed
 * message. A scaler with a cordon renews the cordon each second, so a silence of this length shows that the scaler is
 * gone.
 */
const TERM_MS = 60_000

/**
 * The cordon of this process, for all of its engines. An operator and a scaler each have a cordon of their own, and end
 * only their own cordon. A scaler's cordon also expires, because the scaler may die. Of several scalers, the scaler
 * with the highest term is obeyed: a scaler that sends a lower term has lost its lead.
 *
 * A message with a lower term is obeyed again once two things are true: no scaler's cordon is in force, and no message
 * with the higher term has come for a minute. This is needed only if the queue Redis has lost its data and its clock
 * has gone back, because a new term is at least the Unix time in seconds by the clock of the queue Redis.
 *
 * `onChange` is called when the process becomes cordoned or uncordoned.
 */
export function createCordon(deps: { onChange: () => void; nowMs: () => number; log: Logger }): Cordon {
  const { onChange, nowMs, log } = deps
  let byOperator = false
  /** The scaler that was obeyed last; `timer` runs while its cordon lasts. */
  let scaler: { term: number; receivedMs: number; timer: NodeJS.Timeout | null } | null = null
  let cordoned = false

  function update(reason: string) {
    const next = byOperator || (scaler?.timer ?? null) !== null
    if (next === cordoned) return
    cordoned = next
    log.info({ cordoned, reason, term: scaler?.term }, 'cordon changed')
    onChange()
  }

  /**
   * Obeys a scaler's message. If `forMs` is null, the scaler's cordon ends at once; otherwise it ends `forMs` from now.
   */
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
