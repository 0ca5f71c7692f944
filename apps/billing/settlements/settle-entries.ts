import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { boundModelLabel } from '#libs/telemetry/gen-ai-names.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { NO_SPAN, type Span } from '#libs/telemetry/span.ts'
import type { Tracing } from '#libs/telemetry/tracing.ts'
import type { Money, Settled } from '../database/money.ts'
import { SETTLEMENT_ALARMS, type BillingMetrics } from '../metrics.ts'
import type { TimingWriter } from './write-timings.ts'

/** A settlement from the stream of a model. */
export type ModelSettlement = Settlement & { readonly model: string }

/**
 * Settles a batch and resolves when it is committed, with the entries that PostgreSQL rejects for good. Rejects only
 * when the signal aborts.
 */
export type SettleEntries = (
  settlements: readonly ModelSettlement[],
  signal: AbortSignal,
) => Promise<{ index: number; problem: string }[]>

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 2_000

/**
 * While PostgreSQL is unavailable a batch is tried again, because no settlement may be lost. A value that
 * PostgreSQL rejects would fail the whole batch each time, so the entries of such a batch are settled one by one.
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

  async function settle(settlements: readonly ModelSettlement[], signal: AbortSignal) {
    const spans = settlements.map(traceSettlement)
    let retryMs = FIRST_RETRY_MS
    for (;;) {
      try {
        const answers = await money.settle(settlements)
        timings.add(settlements)
        report(settlements, answers)
        for (const [index, span] of spans.entries()) endSettlement(span, answers[index])
        return null
      } catch (error) {
        if (isRefusal(error)) {
          for (const span of spans) endSettlement(span, undefined)
          return error
        }
        log.warn(
          { err: error, settlements: settlements.length },
          'settlements could not be committed, trying again',
        )
        await sleep(retryMs, undefined, { signal })
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
      }
    }
  }

  /** An entry that is not traced has no parent, and must not begin a trace. */
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
        log.error({ requestId: settlement?.id, settlement, result }, 'settlement alarm')
      }
      // A repetition returns the numbers of the first settlement, which were counted then.
      if (result === 'replayed' || result === 'different') continue
      if (settlement !== undefined && chargedNano > 0n) {
        metrics.chargedCredits.inc({ model: toLabel(settlement.model) }, Number(chargedNano) / 1e9)
      }
      if (costNano > chargedNano) {
        metrics.writtenOffCredits.inc(Number(costNano - chargedNano) / 1e9)
        const writtenOffNano = String(costNano - chargedNano)
        log.warn({ requestId: settlement?.id, settlement, writtenOffNano }, 'cost written off')
      }
    }
  }

  return async (settlements, signal) => {
    const refusal = await settle(settlements, signal)
    if (refusal === null) return []
    const refused: { index: number; problem: string }[] = []
    for (const [index, settlement] of settlements.entries()) {
      const problem = await settle([settlement], signal)
      if (problem !== null) refused.push({ index, problem: problem.message })
    }
    return refused
  }
}

/** Without an answer the batch was refused, and its entries are settled one by one. */
function endSettlement(span: Span, answer: Settled | undefined): void {
  if (answer === undefined) span.fail('refused')
  else span.set({ 'millrace.result': answer.result })
  span.end()
}

/** PostgreSQL rejects these values for good: data exceptions and violated constraints. */
function isRefusal(error: unknown): error is DatabaseError {
  return (
    error instanceof DatabaseError && (error.code?.startsWith('22') || error.code?.startsWith('23')) === true
  )
}
