import { setTimeout as sleep } from 'node:timers/promises'
import type { PartEnd } from '#test/support/faulty-cluster/part.ts'
import type { Ask } from './asks.ts'
import { call, type Call } from './call.ts'
import { judge, type Known, type Outcome } from './judge.ts'
import type { Payer } from './payers.ts'
import type { Random } from './random.ts'

/** One request of a client, and how it ended. */
export type Asked = {
  readonly ask: Ask
  readonly known: Known
  readonly payer: Pick<Payer, 'account' | 'isPoor'>
  readonly call: Call
  readonly outcome: Outcome
}

/** A gateway as its clients see it. */
export type Target = {
  readonly name: string
  readonly baseUrl: string
  isUp(): boolean
  /** Every end of this gateway that a fault caused. */
  ends(): readonly PartEnd[]
}

/** A client hangs up one in this many streams. */
const LEAVES = 8
const RETRY_MS = 300

export type AskOptions = {
  readonly gateways: readonly Target[]
  readonly payers: readonly Asked['payer'][]
  readonly asks: ReadonlyMap<Ask, Known>
  readonly hangMs: number
  readonly deadlineMs: number
}

/**
 * Sends one request. The request, its gateway, its account and a hang-up are drawn. Resolves when the request has
 * ended.
 */
export async function askOnce(options: AskOptions, random: Random): Promise<Asked> {
  const { gateways, asks, hangMs, deadlineMs } = options
  const [ask, known] = random.pick(Array.from(asks))
  // Like a load balancer, this chooses a gateway that is ready, if one is.
  const ready = gateways.filter((each) => each.isUp())
  const gateway = random.pick(ready.length > 0 ? ready : gateways)
  const payer = random.pick(options.payers)
  const leaves = random.chance(1 / LEAVES) && ask.shape.endsWith('-stream')
  const share = random.unit()
  const made = await call({
    gateway,
    apiKey: payer.account.apiKey,
    ask,
    hangMs,
    leaveAfterBytes: leaves ? Math.ceil(known.bytes * share) : undefined,
  })
  const { isPoor } = payer
  const outcome = judge({ ask, known, call: made, isPoor, gatewayEnds: gateway.ends(), deadlineMs })
  return { ask, known, payer, call: made, outcome }
}

/**
 * Starts `count` clients. Each sends one request after the other until `stop` is called. `stop` resolves with all
 * requests when the last of them has ended.
 */
export function startClients(options: AskOptions & { random: Random; count: number }): {
  stop(): Promise<Asked[]>
} {
  const all: Asked[] = []
  const stopping = new AbortController()

  async function follow(index: number) {
    const random = options.random.fork(`client ${index}`)
    // The clients begin at different times.
    await sleep(random.int(0, 1_000))
    while (!stopping.signal.aborted) {
      const asked = await askOnce(options, random)
      all.push(asked)
      if (asked.outcome.kind !== 'exact' && asked.outcome.kind !== 'left') await sleep(RETRY_MS)
    }
  }

  const following = Promise.all(Array.from({ length: options.count }, (_, index) => follow(index)))
  // `stop` reports the rejection.
  following.catch(() => undefined)
  return {
    async stop() {
      stopping.abort()
      await following
      return all
    },
  }
}
