import type { Caller } from '../../callers/caller.ts'
import type { ExpectedOutput } from '../estimates/expected-output.ts'
import type { GenerationCall } from '../request/generation-call.ts'

/** A request that runs with a hold. */
export type RunningRequest = {
  readonly call: Pick<GenerationCall, 'caller' | 'model' | 'choices'>
  /** Returns the hold, the part of it that the received output has used, and the number of received output tokens. */
  used(): { readonly amountNano: bigint; readonly usedNano: bigint; readonly tokens: number }
}

/** The holds of the requests that this gateway runs. Requests that wait for credits learn here what may come back. */
export type RunningHolds = {
  /** Counts a request until the returned function is called. */
  enter(request: RunningRequest): () => void
  /**
   * Returns the part of `heldNano` that will probably be free within `withinMs`. `heldNano` is what billing holds for
   * the caller's account, or for its key (`of`).
   */
  comingBack(
    caller: Pick<Caller, 'accountId' | 'keyId'>,
    held: { readonly of: 'account' | 'key'; readonly heldNano: bigint; readonly withinMs: number },
  ): bigint
}

type Entry = {
  readonly request: RunningRequest
  /** How many tokens were received at the last look; null before the first one. */
  seen: { readonly tokens: number; readonly atMs: number } | null
}

/**
 * Any answer may end at the next token, and then gives back what it has not used. That is too much to hope for in two
 * cases, in which nothing of the hold counts:
 * - the answer is longer than nearly all answers of its account, so nothing is known about its end;
 * - at its present speed, the usual length of the account's answers is not reached in time. If it has passed the usual
 *   length, the likely length counts.
 *
 * The lengths are known from the account's own answers only. The holds that other gateways run may all come back.
 */
export function createRunningHolds(deps: {
  expectedOutput: Pick<ExpectedOutput, 'expect'>
  nowMs: () => number
}): RunningHolds {
  const { expectedOutput, nowMs } = deps
  const byAccount = new Map<string, Set<Entry>>()

  /** Returns the speed since the last look, in tokens per ms; null if it is unknown. */
  function toSpeed(entry: Entry, tokens: number): number | null {
    const { seen } = entry
    entry.seen = { tokens, atMs: nowMs() }
    if (seen === null || seen.tokens === 0 || tokens === seen.tokens) return null
    return (tokens - seen.tokens) / (entry.seen.atMs - seen.atMs)
  }

  function endsWithin(ms: number, entry: Entry, tokens: number): boolean {
    const { caller, model, choices = 1 } = entry.request.call
    const { usual, likely, isOwn } = expectedOutput.expect(model.id, caller.accountId)
    const speed = toSpeed(entry, tokens)
    if (!isOwn) return true
    const length = choices * (tokens < choices * usual ? usual : likely)
    return tokens <= length && (speed === null || (length - tokens) / speed <= ms)
  }

  return {
    enter(request) {
      const { accountId } = request.call.caller
      const own = byAccount.get(accountId) ?? new Set()
      byAccount.set(accountId, own)
      const entry: Entry = { request, seen: null }
      own.add(entry)
      return () => {
        own.delete(entry)
        if (own.size === 0 && byAccount.get(accountId) === own) byAccount.delete(accountId)
      }
    },

    comingBack({ accountId, keyId }, { of, heldNano, withinMs }) {
      let kept = 0n
      for (const entry of byAccount.get(accountId) ?? []) {
        if (of === 'key' && entry.request.call.caller.keyId !== keyId) continue
        const { amountNano, usedNano, tokens } = entry.request.used()
        kept += endsWithin(withinMs, entry, tokens) ? usedNano : amountNano
      }
      return heldNano > kept ? heldNano - kept : 0n
    },
  }
}
