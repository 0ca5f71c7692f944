import { setTimeout as sleep } from 'node:timers/promises'
import type { TestAccount } from '#test/support/cluster.ts'
import type { FaultyCluster } from '#test/support/faulty-cluster/faulty-cluster.ts'
import type { Ask } from './asks.ts'
import { call, type Call } from './call.ts'
import { judge, type Known, type Outcome } from './judge.ts'
import type { Random } from './random.ts'

/** One request of a client, and how it ended. */
export type Asked = {
  readonly ask: Ask
  readonly known: Known
  readonly account: TestAccount
  readonly call: Call
  readonly outcome: Outcome
}

/** One in this many streams is hung up. */
const LEAVES = 8
const RETRY_MS = 300

/**
 * `count` clients, each with one request after the other until `stop` is called, which resolves with all requests when
 * the last has ended.
 */
export function startClients(options: {
  cluster: FaultyCluster
  accounts: readonly TestAccount[]
  asks: ReadonlyMap<Ask, Known>
  random: Random
  count: number
  hangMs: number
  deadlineMs: number
}): { stop(): Promise<Asked[]> } {
  const { cluster, accounts, asks, count, hangMs, deadlineMs } = options
  const all: Asked[] = []
  const choices = Array.from(asks)
  const stopping = new AbortController()

  /** As a load balancer does: one that is ready, if any is. */
  function pickGateway(random: Random) {
    const ready = cluster.gateways.filter((gateway) => gateway.isUp())
    return random.pick(ready.length > 0 ? ready : cluster.gateways)
  }

  async function follow(index: number) {
    const random = options.random.fork(`client ${index}`)
    // They do not all begin at once.
    await sleep(random.int(0, 1_000))
    while (!stopping.signal.aborted) {
      const [ask, known] = random.pick(choices)
      const gateway = pickGateway(random)
      const account = random.pick(accounts)
      const leaves = random.chance(1 / LEAVES) && ask.shape.endsWith('-stream')
      const share = random.unit()
      const made = await call({
        gateway,
        apiKey: account.apiKey,
        ask,
        hangMs,
        leaveAfterBytes: leaves ? Math.ceil(known.bytes * share) : undefined,
      })
      const outcome = judge({ ask, known, call: made, gatewayEnds: gateway.ends(), deadlineMs })
      all.push({ ask, known, account, call: made, outcome })
      if (outcome.kind !== 'exact' && outcome.kind !== 'left') await sleep(RETRY_MS)
    }
  }

  const following = Promise.all(Array.from({ length: count }, (_, index) => follow(index)))
  // Reported by `stop`.
  following.catch(() => undefined)
  return {
    async stop() {
      stopping.abort()
      await following
      return all
    },
  }
}
