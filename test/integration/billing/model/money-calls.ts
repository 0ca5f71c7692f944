import { randomUUID } from 'node:crypto'
import type { HoldAnswer, ReserveCall } from '#libs/billing-client/billing-calls.ts'
import { settlement, type BillingDatabase } from '../support/billing-database.ts'
import { createCreditModel } from './credit-model.ts'
import { createHoldModel, type ModelAnswer } from './hold-model.ts'
import type { Books } from './money-books.ts'
import { MODELS, RESERVATIONS, type Step } from './money-steps.ts'
import { at, giveCredit, sealLedger } from './money-world.ts'
import { createReceiptPurse } from './receipt-purse.ts'
import { createSettlementModel } from './settlement-model.ts'

/** The answers of the database and of the model. */
export type Outcome = { readonly actual: unknown; readonly expected: unknown }

/** A call that is the same each time it is sent. */
export type Call = () => Promise<Outcome>

/** An entry that has the id of its reservation in place of the index. */
type Entry = Omit<StepOf<'settle'>['entries'][number], 'id'> & { readonly id: string }

export type StepOf<Kind extends Step['kind']> = Extract<Step, { kind: Kind }>

/** Turns steps into calls of the database and of the model. */
export function createCalls(database: BillingDatabase, books: Books) {
  const { money, clock } = database
  const holds = createHoldModel(books, () => clock.nowMs)
  const settlements = createSettlementModel(books, () => clock.nowMs)
  const credits = createCreditModel(books)
  const purse = createReceiptPurse()
  const ids = Array.from({ length: RESERVATIONS }, () => randomUUID())
  const keyIds = [...books.keys.map(({ id }) => id), randomUUID()]
  const models = [...MODELS.map(({ id }) => id), 'unknown']
  const deadlineMs = (deadlineS: number) => clock.nowMs + deadlineS * 1_000
  /** The reserves that were refused for lack of credits, in the order of their requests. */
  const waiting = new Map<string, ReserveCall>()

  /**
   * Returns a reservation's id. An index beyond all reservations selects a reservation for which `isBetter` is true, if
   * there is one.
   */
  function idOf(place: number, isBetter: (id: string) => boolean): string {
    const better = ids.filter(isBetter)
    return ids[place] ?? at(better.length > 0 ? better : ids, place % Math.max(better.length, 1))
  }
  const isNew = (id: string) => !books.reservations.has(id)
  const isHeld = (id: string) => books.reservations.get(id)?.state === 'held'
  const isUnsettled = (id: string) => {
    const known = books.reservations.get(id)
    return known === undefined ? purse.has(id) : known.hold !== null && known.usage === null
  }

  const readAnswers = (answers: readonly HoldAnswer[], sent: readonly { reservationId: string }[]) =>
    answers.map((answer, index) => readAnswer(answer, at(sent, index).reservationId))

  function readAnswer(answer: HoldAnswer, id: string): ModelAnswer {
    if (answer.status === 'key-rate') return { status: 'key-rate' }
    return answer.status === 'granted' ? { ...answer, receipt: purse.keep(id, answer.receipt) } : answer
  }

  function reserve(sent: readonly ReserveCall[]): Call {
    return async () => {
      const actual = readAnswers(await money.reserve(sent), sent)
      const expected = holds.reserve(sent)
      for (const [index, { status }] of expected.entries()) {
        const call = at(sent, index)
        const isShort = status === 'insufficient-credits' || status === 'key-limit'
        if (isShort) waiting.set(call.reservationId, waiting.get(call.reservationId) ?? call)
      }
      return { actual, expected }
    }
  }

  function settle(asked: readonly Entry[]): Call {
    const sent = asked.map((entry) => {
      const { text, receipt } = purse.take(entry.id, entry.receipt)
      const fields = {
        epoch: entry.epoch,
        outcome: entry.outcome,
        promptTokens: entry.input,
        cachedTokens: Math.min(entry.cached, entry.input),
        completionTokens: entry.output,
        ...(text !== undefined && { receipt: text }),
      }
      return { entry: settlement(entry.id, fields), receipt }
    })
    const entries = sent.map(({ entry }) => entry)
    return async () => ({ actual: await money.settle(entries), expected: settlements.settle(sent) })
  }

  return {
    credit(step: StepOf<'top-up' | 'adjust'>): Call {
      const credit = {
        ...step,
        account: at(books.accounts, step.account),
        idempotencyKey: `${step.idempotencyKey}`,
      }
      return async () => ({ actual: await giveCredit(database, credit), expected: credits.give(credit) })
    },

    reserve(step: StepOf<'reserve'>): Call {
      const sent = step.calls.map((call) => ({
        reservationId: idOf(call.id, isNew),
        keyId: at(keyIds, call.key),
        model: at(models, call.model),
        inputTokens: call.input,
        outputTokens: call.output,
        deadlineMs: deadlineMs(call.deadlineS),
        choices: call.choices,
        ...(call.rolling !== null && { rolling: call.rolling }),
      }))
      return reserve(oncePerId(sent))
    },

    /** Returns the call of the request that has waited longest; null if none waits. */
    askAgain({ leastTokens }: StepOf<'ask-again'>): Call | null {
      for (const [id, call] of waiting) {
        if (!isNew(id)) {
          waiting.delete(id)
          continue
        }
        const { rolling } = call
        return reserve([{ ...call, ...(rolling && { rolling: { ...rolling, leastTokens } }) }])
      }
      return null
    },

    resize(step: StepOf<'resize'>): Call {
      const sent = oncePerId(
        step.calls.map(({ id, output, deadlineS, ...call }) => ({
          reservationId: idOf(id, isHeld),
          outputTokens: output,
          choices: call.choices,
          ...(call.input !== null && { inputTokens: call.input }),
          ...(deadlineS !== null && { deadlineMs: deadlineMs(deadlineS) }),
        })),
      )
      return async () => ({
        actual: readAnswers(await money.resize(sent), sent),
        expected: holds.resize(sent),
      })
    },

    release(step: StepOf<'release'>): Call {
      const sent = step.ids.map((id) => idOf(id, isHeld))
      return async () => ({ actual: await money.release(sent), expected: holds.release(sent) })
    },

    settle(step: StepOf<'settle'>): Call {
      return settle(step.entries.map((entry) => ({ ...entry, id: idOf(entry.id, isUnsettled) })))
    },

    /** Deletes a reservation. Returns its id, and the call with the settlements that arrive for it. */
    restore(step: StepOf<'restore'>): { id: string; call: Call | null } {
      const id = idOf(step.id, isUnsettled)
      const entries = step.entries.map((entry) => ({ ...entry, id }))
      holds.forget(id)
      return { id, call: entries.length === 0 ? null : settle(entries) }
    },

    sweep(step: StepOf<'sweep'>): Call {
      clock.nowMs += step.waitS * 1_000
      const settledUntilMs = clock.nowMs
      const swept = step.models.map((place) => at(models, place))
      const streams = swept.map((model) => ({
        model,
        runId: 'run-1',
        observedAtMs: settledUntilMs,
        lastId: { ms: 1n, seq: 0n },
        settledUntilMs,
        confirmedMs: null,
      }))
      return async () => {
        await money.noteObservations(streams, 60_000)
        for (const model of swept) {
          books.watermarks.set(model, Math.max(books.watermarks.get(model) ?? 0, settledUntilMs))
        }
        return { actual: (await money.expire(100)).expired, expected: holds.expire() }
      }
    },

    seal(): Call {
      return async () => ({ actual: await sealLedger(database), expected: credits.seal(clock.nowMs) })
    },
  }
}

/** Leaves out the later calls of one reservation: the lane puts them into later batches. */
function oncePerId<Call extends { readonly reservationId: string }>(calls: readonly Call[]): Call[] {
  const ids = calls.map(({ reservationId }) => reservationId)
  return calls.filter(({ reservationId }, index) => ids.indexOf(reservationId) === index)
}
