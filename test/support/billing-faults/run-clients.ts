import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import type { HoldAnswer, ReserveCall } from '#libs/billing-client/billing-calls.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { runs } from '../long.ts'
import type { SettlementSender } from './send-settlements.ts'
import type { Granted, Truth } from './truth.ts'

const CLIENTS = 40

/**
 * The pause between two generations of a client. In the long form of the tests there is no pause, so that clients load
 * the replicas as much as they can.
 */
const REST_MS = runs(150, 0)

/** The pause between two tries of one call, so that clients do not spin while everything is down. */
const RETRY_MS = 250

/**
 * The test fails if a call is not answered within this time. The time is enough, because a killed server is started
 * again at once, and after the last kill all servers run and can answer.
 */
const CALL_LIMIT_MS = 60_000

const SOON_MS = 1_000
const LATER_MS = 600_000

export type FaultAccount = {
  readonly accountId: string
  readonly keyId: string
  /** True if the account has credits for only a few holds at once, so that some of its calls are refused. */
  readonly poor: boolean
}

/**
 * Runs many clients at once, each with one generation after another, until `stop` is called. The clients reserve,
 * replace, extend, release and settle. They also send the same call to both replicas of billing at once, abandon calls,
 * and send a settlement and a release of one hold at the same time. `stop` returns, for each reservation, the facts
 * that the clients know from billing's answers.
 */
export function runClients(options: {
  /** Several clients of each replica. */
  clients: readonly BillingClient[]
  accounts: readonly FaultAccount[]
  models: readonly string[]
  sender: SettlementSender
}) {
  const { clients, accounts, models, sender } = options
  const truths = new Map<string, Truth>()
  const counts = { reserves: 0, repeated: 0 }
  const stopping = new AbortController()

  async function generate() {
    const account = pick(accounts)
    const call = reserveCall(account.keyId, pick(models))
    const isLeft = isOneIn(20)
    if (isLeft) call.deadlineMs = Date.now() + SOON_MS
    const truth: Truth = {
      accountId: account.accountId,
      hold: null,
      extended: false,
      end: 'left',
      settlement: null,
    }
    truths.set(call.reservationId, truth)
    if (isOneIn(20)) {
      // The answer of this call is lost. Half of such calls are never repeated.
      void pick(clients)
        .reserve(call)
        .catch(() => undefined)
      if (isOneIn(2)) return
    }
    truth.hold = await reserve(call)
    if (truth.hold === null) return
    counts.reserves += 1
    if (!account.poor) await change(call, truth)
    if (!isLeft) await end(call, truth, truth.hold)
  }

  /** Returns null if the call was refused. */
  async function reserve(call: ReserveCall): Promise<Granted | null> {
    const isTwice = isOneIn(5)
    const answers = await Promise.all(
      (isTwice ? [0, 1] : [randomInt(2)]).map((first) => insist((client) => client.reserve(call), first)),
    )
    const granted = answers.filter((answer) => answer.status === 'granted')
    for (const answer of answers) assertExpected(answer)
    if (new Set(granted.map((answer) => answer.amountNano)).size > 1) {
      throw new Error(`two answers to one reserve: ${granted.map((answer) => answer.amountNano).join(', ')}`)
    }
    return granted[0] ?? null
  }

  async function change(call: ReserveCall, truth: Truth) {
    const { reservationId, inputTokens, outputTokens } = call
    if (isOneIn(4)) {
      const exact = { reservationId, inputTokens: inputTokens - randomInt(20), outputTokens }
      truth.hold = toGranted(await insist((client) => client.resize(exact)))
    }
    if (isOneIn(4)) {
      const more = { reservationId, outputTokens: outputTokens + randomInt(1, 100) }
      truth.hold = toGranted(await insist((client) => client.resize(more)))
      truth.extended = true
    }
  }

  async function end({ reservationId, model, inputTokens }: ReserveCall, truth: Truth, first: Granted) {
    const hold = truth.hold ?? first
    const dice = randomInt(10)
    if (dice === 0) {
      if (!(await insist((client) => client.release(reservationId)))) throw new Error('a release was refused')
      truth.end = 'released'
      return
    }
    const promptTokens = inputTokens - randomInt(30)
    truth.settlement = {
      id: reservationId,
      epoch: 1,
      outcome: pick(['completed', 'completed', 'cancelled', 'fault'] as const),
      promptTokens,
      cachedTokens: randomInt(promptTokens),
      // One generation in ten costs more than its hold.
      completionTokens: dice === 1 ? hold.outputTokens + 200 : randomInt(hold.outputTokens + 1),
      by: 'a-worker',
      receipt: hold.receipt,
    } satisfies Settlement
    const sent = sender.send(model, truth.settlement)
    const released = dice === 2 && (await insist((client) => client.release(reservationId)))
    truth.end = released ? 'settled-after-release' : 'settled'
    await sent
  }

  /** Makes the same call to one replica and the other in turn until one answers. */
  async function insist<Answer>(
    call: (client: BillingClient) => Promise<Answer>,
    first = randomInt(2),
  ): Promise<Answer> {
    const giveUpAtMs = Date.now() + CALL_LIMIT_MS
    for (let attempt = first; ; attempt += 1) {
      const client = clients[attempt % clients.length] ?? pick(clients)
      try {
        return await call(client)
      } catch (error) {
        if (!(error instanceof BillingUnavailable) || Date.now() > giveUpAtMs) throw error
        counts.repeated += 1
        await sleep(RETRY_MS)
      }
    }
  }

  async function run() {
    while (!stopping.signal.aborted) {
      await generate()
      await sleep(REST_MS)
    }
  }

  const running = Promise.all(Array.from({ length: CLIENTS }, run))
  // The failure is reported by `stop`, which rejects with it.
  running.catch(() => stopping.abort())
  return {
    async stop() {
      stopping.abort()
      await running
      return { truths, ...counts }
    },
  }
}

function reserveCall(keyId: string, model: string) {
  return {
    reservationId: randomUUID(),
    keyId,
    model,
    inputTokens: 50 + randomInt(100),
    outputTokens: model === 'embed' ? 0 : 20 + randomInt(80),
    deadlineMs: Date.now() + LATER_MS,
  }
}

function assertExpected(answer: HoldAnswer) {
  if (answer.status !== 'granted' && answer.status !== 'insufficient-credits') {
    throw new Error(`a reserve was answered with ${answer.status}`)
  }
}

function toGranted(answer: HoldAnswer): Granted {
  if (answer.status !== 'granted') throw new Error(`a hold was answered with ${answer.status}`)
  return answer
}

const isOneIn = (count: number) => randomInt(count) === 0

function pick<Value>(values: readonly Value[]): Value {
  const value = values[randomInt(values.length)]
  if (value === undefined) throw new Error('nothing to pick from')
  return value
}
