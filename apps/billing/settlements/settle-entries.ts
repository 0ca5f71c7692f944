import { setTimeout as sleep } from 'node:timers/promises'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { boundModelLabel } from '#libs/telemetry/gen-ai-names.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { NO_SPAN, type Span } from '#libs/telemetry/span.ts'
import type { Tracing } from '#libs/telemetry/tracing.ts'
import {
  isConflict,
  isDatabaseUnavailable,
  isMissingRight,
  isRejectedValue,
} from '../database/database-errors.ts'
import type { Money, Settled } from '../money/money.ts'
import { SETTLEMENT_ALARMS, type BillingMetrics } from '../metrics.ts'
import type { TimingWriter } from './write-timings.ts'

/** A settlement from the stream of a model. */
export type ModelSettlement = Settlement & { readonly model: string }

/**
 * Settles a batch, and resolves when the batch is committed. The result has the entries that cannot be settled, with
 * the reason for each. Rejects only when the signal aborts.
 */
export type SettleEntries = (
  settlements: readonly ModelSettlement[],
  signal: AbortSignal,
) => Promise<{ index: number; problem: string }[]>

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 2_000

/**
 * While PostgreSQL can settle nothing, a batch is tried again until it succeeds, because no settlement may be lost. If
 * PostgreSQL can settle but a batch fails, an entry is the cause: either PostgreSQL rejects a value of the entry, or
 * this version of billing cannot handle the entry. Each further try of the whole batch would fail too. So the entries
 * of this batch are settled one by one, and the entries that cannot be settled are returned.
 */
export function createSettleEntries(deps: {
  money: Money
  timings: Pick<TimingWriter, 'add'>
  metrics: BillingMetrics
  tracing: Tracing
  log: Logger
}): SettleEntries {
  const { money, timings, metrics, tracing, log } = deps
  const toLabel = boundModelLabel()

  /** Resolves with null when all entries are committed, else with the error for which the batch was refused. */
  async function settle(settlements: readonly ModelSettlement[], signal: AbortSignal) {
    const spans = settlements.map(traceSettlement)
    const answers = await untilAnswered(settlements, signal)
    if ('refusal' in answers) {
      for (const span of spans) endSettlement(span, undefined)
      return answers
    }
    timings.add(settlements)
    report(settlements, answers.settled)
    for (const [index, span] of spans.entries()) endSettlement(span, answers.settled[index])
    return null
  }

  async function untilAnswered(
    settlements: readonly ModelSettlement[],
    signal: AbortSignal,
  ): Promise<{ settled: readonly Settled[] } | { refusal: unknown }> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      try {
        return { settled: await money.settle(settlements) }
      } catch (error) {
        if (!(await isOutage(error))) return { refusal: error }
        log.warn(
          { err: error, settlements: settlements.length },
          'settlements could not be committed, trying again',
        )
      }
      await sleep(retryMs, undefined, { signal })
    }
  }

  /**
   * Returns whether the database, and not an entry, is the cause of the error. A missing right is never an entry's
   * fault, although only some entries may need that right. Some errors do not show their cause. After such an error an
   * empty batch is settled: if this fails as well, the database is the cause.
   */
  async function isOutage(error: unknown): Promise<boolean> {
    if (isRejectedValue(error)) return false
    if (isDatabaseUnavailable(error) || isConflict(error) || isMissingRight(error)) return true
    try {
      await money.settle([])
      return false
    } catch {
      return true
    }
  }

  /** An entry without a trace has no parent span, and must not begin a trace. */
  function traceSettlement({ id, epoch, outcome, traceparent }: Settlement): Span {
    if (traceparent === undefined) return NO_SPAN
    return tracing.start('settle', {
      kind: 'CONSUMER',
      parent: traceparent,
      attributes: { 'millrace.request.id': id, 'millrace.epoch': epoch, 'millrace.outcome': outcome },
    })
  }

  function report(settlements: readonly ModelSettlement[], answers: readonly Settled[]) {
    for (const [index, { result, costNano, chargedNano }] of answers.entries()) {
      const settlement = settlements[index]
      metrics.settlements.inc({ result })
      if (SETTLEMENT_ALARMS.includes(result)) {
        metrics.settlementAlarms.inc({ kind: result })
        log.error(
          { requestId: settlement?.id, settlement: toLogFields(settlement), result },
          'settlement alarm',
        )
      }
      // A repeated settlement returns the numbers of the first settlement, which are counted already.
      if (result === 'replayed' || result === 'different') continue
      if (settlement !== undefined && chargedNano > 0n) {
        metrics.chargedCredits.inc({ model: toLabel(settlement.model) }, Number(chargedNano) / 1e9)
      }
      if (settlement?.outcome === 'fault' && costNano > 0n) {
        metrics.chargedFailures.inc()
        log.warn(
          { requestId: settlement.id, settlement: toLogFields(settlement) },
          'failed generation charged',
        )
      }
      if (costNano > chargedNano) {
        metrics.writtenOffCredits.inc(Number(costNano - chargedNano) / 1e9)
        const writtenOffNano = String(costNano - chargedNano)
        log.warn(
          { requestId: settlement?.id, settlement: toLogFields(settlement), writtenOffNano },
          'cost written off',
        )
      }
    }
  }

  return async (settlements, signal) => {
    if ((await settle(settlements, signal)) === null) return []
    const refused: { index: number; problem: string }[] = []
    for (const [index, settlement] of settlements.entries()) {
      // A batch of only one entry is settled here a second time. This is intended: the first error may have been the
      // loss of a connection, in a form that `isOutage` does not recognize.
      const answer = await settle([settlement], signal)
      if (answer !== null) refused.push({ index, problem: toProblem(answer.refusal) })
    }
    return refused
  }
}

/** The receipt is left out of logs, because any process that has it can settle the hold. */
function toLogFields(settlement: ModelSettlement | undefined) {
  if (settlement === undefined) return undefined
  const { model, epoch, outcome, promptTokens, cachedTokens, completionTokens, by } = settlement
  return { model, epoch, outcome, promptTokens, cachedTokens, completionTokens, by }
}

/** If there is no answer, the batch was refused and its entries are settled one by one. */
function endSettlement(span: Span, answer: Settled | undefined): void {
  if (answer === undefined) span.fail('refused')
  else span.set({ 'millrace.result': answer.result })
  span.end()
}

const toProblem = (error: unknown) =>
  error instanceof Error ? `${error.name}: ${error.message}` : 'not an error'
