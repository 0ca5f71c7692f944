import { expect } from 'vitest'
import type { HoldAnswer, HoldPrices, ReplaceCall, ReserveCall } from '#libs/billing-client/billing-calls.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { affordableOutput, priceTokens } from '#libs/money/price.ts'
import { HOLD_GRACE_MS } from './billing-database.ts'
import { MODELS } from './money-steps.ts'

export type ModelAccount = { accountId: string; keyId: string; posted: bigint; held: bigint }

type Reservation = {
  state: 'held' | 'settled' | 'released' | 'expired'
  /** The account, the call and the hold are null for a tombstone. */
  account: ModelAccount | null
  call: ReserveCall | null
  hold: Extract<HoldAnswer, { status: 'granted' }> | null
  exact: string
  usage: { entry: string; charged: bigint } | null
}

/** Billing's rules once more, one call at a time in BigInt: what `sql/` must agree with. */
export function createMoneyModel(accounts: readonly ModelAccount[]) {
  const reservations = new Map<string, Reservation>()
  const watermarks = new Map<string, number>()

  /** Calls of one account are served in order; which account comes first does not matter. */
  function reserveAll(calls: readonly ReserveCall[]): HoldAnswer[] {
    const first = new Map<string, { call: ReserveCall; answer: HoldAnswer }>()
    return calls.map((call) => {
      const earlier = first.get(call.reservationId)
      if (earlier) return same(earlier.call, call) ? earlier.answer : { status: 'conflict' }
      const answer = reserve(call)
      first.set(call.reservationId, { call, answer })
      return answer
    })
  }

  function reserve(call: ReserveCall): HoldAnswer {
    const known = reservations.get(call.reservationId)
    if (known) {
      const isSame = known.state === 'held' && known.call !== null && same(known.call, call)
      return isSame && known.hold ? known.hold : { status: 'conflict' }
    }
    const account = accounts.find(({ keyId }) => keyId === call.keyId)
    const model = MODELS.find(({ id }) => id === call.model)
    if (!account || !model) throw new Error('the test makes no such call')
    const answer = grant(account, account.posted - account.held, { model, call, prices: pricesOf(model) })
    if (answer.status === 'granted') {
      account.held += answer.amountNano
      reservations.set(call.reservationId, {
        state: 'held',
        account,
        call,
        exact: '',
        hold: answer,
        usage: null,
      })
    }
    return answer
  }

  function replaceAll(calls: readonly ReplaceCall[]) {
    const first = new Map<string, { exact: string; answer: HoldAnswer }>()
    return calls.map((call): HoldAnswer => {
      const exact = `${call.inputTokens} ${call.outputTokens}`
      const earlier = first.get(call.reservationId)
      if (earlier) return earlier.exact === exact ? earlier.answer : { status: 'conflict' }
      const answer = replace(call, exact)
      first.set(call.reservationId, { exact, answer })
      return answer
    })
  }

  function replace(call: ReplaceCall, exact: string): HoldAnswer {
    const known = reservations.get(call.reservationId)
    if (known?.state !== 'held' || !known.account || !known.hold || !known.call) return { status: 'conflict' }
    if (known.exact !== '') return known.exact === exact ? known.hold : { status: 'conflict' }
    const { account, hold } = known
    const model = MODELS.find(({ id }) => id === known.call?.model)
    if (!model) throw new Error('the test makes no such call')
    const answer = grant(account, account.posted - account.held + hold.amountNano, {
      model,
      call,
      prices: hold.prices,
    })
    if (answer.status === 'granted') {
      account.held += answer.amountNano - hold.amountNano
      reservations.set(call.reservationId, { ...known, exact, hold: answer })
    }
    return answer
  }

  function release(id: string): boolean {
    const known = reservations.get(id)
    if (!known) {
      reservations.set(id, {
        state: 'released',
        account: null,
        call: null,
        exact: '',
        hold: null,
        usage: null,
      })
      return true
    }
    if (known.state === 'held' && known.account && known.hold) {
      known.account.held -= known.hold.amountNano
      known.state = 'released'
    }
    return known.state === 'released'
  }

  function settle(entry: Settlement): { result: string; charged: bigint } {
    const known = reservations.get(entry.id)
    const paid = entry.outcome === 'completed' || entry.outcome === 'cancelled'
    if (!known) return { result: 'unknown', charged: 0n }
    if (!known.account || !known.hold) return { result: paid ? 'unknown' : 'void', charged: 0n }
    const text = JSON.stringify({ ...entry, by: '' })
    if (known.usage) {
      return { result: known.usage.entry === text ? 'replayed' : 'different', charged: known.usage.charged }
    }
    const { account, hold, state } = known
    const used = {
      input: entry.promptTokens,
      cachedInput: entry.cachedTokens,
      output: entry.completionTokens,
    }
    const cost = paid ? priceTokens(used, hold.prices) : 0n
    if (state === 'held') account.held -= hold.amountNano
    const available = account.posted - account.held
    const charged = state === 'released' ? 0n : least(cost, hold.amountNano, available)
    account.posted -= charged
    known.usage = { entry: text, charged }
    if (state === 'released') return { result: paid ? 'released' : 'void', charged }
    known.state = 'settled'
    return { result: state === 'held' ? 'charged' : 'late', charged }
  }

  function expire(): number {
    let expired = 0
    for (const known of reservations.values()) {
      if (known.state !== 'held' || !known.account || !known.hold || !known.call) continue
      const until = watermarks.get(known.call.model)
      if (until === undefined || known.call.deadlineMs + HOLD_GRACE_MS + 30_000 >= until) continue
      known.account.held -= known.hold.amountNano
      known.state = 'expired'
      expired += 1
    }
    return expired
  }

  function setWatermark(model: string, untilMs: number) {
    watermarks.set(model, Math.max(watermarks.get(model) ?? 0, untilMs))
  }

  return { reserveAll, replaceAll, release, settle, setWatermark, expire }
}

function grant(
  account: ModelAccount,
  available: bigint,
  asked: { model: ModelSpec; call: { inputTokens: number; outputTokens: number }; prices: HoldPrices },
): HoldAnswer {
  const { model, call, prices } = asked
  const room = Math.max(model.contextWindow - call.inputTokens, 1)
  const limit = Math.min(call.outputTokens, model.maxOutputTokens, room)
  const output = affordableOutput(toNanoCredits(available), prices, { input: call.inputTokens, limit })
  if (output === null || (output === 0 && limit > 0)) {
    return {
      status: 'insufficient-credits',
      availableNano: toNanoCredits(account.posted - account.held),
      heldNano: toNanoCredits(account.held),
    }
  }
  const used = { input: call.inputTokens, cachedInput: 0, output }
  return {
    status: 'granted',
    amountNano: priceTokens(used, prices),
    outputTokens: output,
    clamped: output < limit,
    prices,
    receipt: expect.any(String),
  }
}

function pricesOf(model: ModelSpec): HoldPrices {
  return {
    inputPriceNano: BigInt(model.inputPriceNano),
    cachedInputPriceNano: BigInt(model.cachedInputPriceNano),
    outputPriceNano: BigInt(model.outputPriceNano),
  }
}

const same = (a: ReserveCall, b: ReserveCall) => JSON.stringify(a) === JSON.stringify(b)

function least(...amounts: readonly bigint[]): bigint {
  return amounts.reduce((low, amount) => (amount < low ? amount : low))
}
