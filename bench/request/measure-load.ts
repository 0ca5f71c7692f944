import { CHAIN, MODEL, type ChainPart, type Side } from './start-side.ts'
import { runClosedLoop, runPoisson } from '../harness/offer-load.ts'
import { redisBetween, type RedisTraffic } from '../harness/redis-commands.ts'
import { quantile } from '../harness/spread.ts'
import { streamChat } from '../harness/stream-chat.ts'

/** A load: requests at random moments, or a fixed number of open requests. */
export type RequestLoad = ({ readonly ratePerS: number } | { readonly inFlight: number }) & {
  readonly seconds: number
}

export type Measured = {
  readonly finished: number
  readonly failed: number
  readonly firstFailure: string
  readonly perS: number
  readonly firstTokenMs: { readonly p50: number; readonly p90: number }
  readonly wholeMs: { readonly p50: number; readonly p90: number }
  /** CPU time per finished request. */
  readonly cpuMs: Readonly<Record<ChainPart | 'chain', number>>
  readonly redis: RedisTraffic
}

/**
 * The time after a request's answer within which its settlement is gathered and committed. The cost of this work
 * belongs to the request.
 */
const AFTERMATH_MS = 500
const TOKENS = 3

/**
 * Offers one load of short chats to a cluster. Returns the times of the requests, and the cost per finished request.
 */
export async function measureLoad(side: Side, load: RequestLoad): Promise<Measured> {
  const firstTokenMs: number[] = []
  const wholeMs: number[] = []
  let firstFailure = ''

  async function call() {
    const sentMs = performance.now()
    try {
      const { firstTextMs } = await streamChat({ ...side, body: toBody() })
      firstTokenMs.push(firstTextMs)
      wholeMs.push(performance.now() - sentMs)
      return true
    } catch (error) {
      firstFailure ||= String(error)
      return false
    }
  }

  const before = await side.snapshot()
  const offered =
    'ratePerS' in load ? await runPoisson({ call, ...load }) : await runClosedLoop({ call, ...load })
  await pauseMs(AFTERMATH_MS)
  const after = await side.snapshot()
  const finished = wholeMs.length
  if (finished === 0) throw new Error(`no request of ${side.name} finished: ${firstFailure}`)
  const cpuMs = (part: ChainPart) => (after.cpuUs[part] - before.cpuUs[part]) / 1_000 / finished
  return {
    finished,
    failed: offered.refused,
    firstFailure,
    perS: offered.perS,
    firstTokenMs: toQuantiles(firstTokenMs),
    wholeMs: toQuantiles(wholeMs),
    cpuMs: {
      gateway: cpuMs('gateway'),
      worker: cpuMs('worker'),
      redis: cpuMs('redis'),
      billing: cpuMs('billing'),
      postgres: cpuMs('postgres'),
      chain: CHAIN.reduce((sum, part) => sum + cpuMs(part), 0),
    },
    redis: redisBetween(before.redis, after.redis),
  }
}

const SYSTEM =
  'You are a helpful assistant. Answer in one short sentence, and name the source of each figure.'

/** Returns a body with a system prompt that all requests share and a question that differs in each. */
function toBody(): object {
  const number = Math.floor(Math.random() * 1e9)
  return {
    model: MODEL,
    messages: [
      { role: 'system', content: SYSTEM },
      {
        role: 'user',
        content: `[[tokens=${TOKENS}]] What is known of the mill at lot ${number} on the river?`,
      },
    ],
    max_tokens: TOKENS,
  }
}

function toQuantiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b)
  return { p50: quantile(sorted, 0.5), p90: quantile(sorted, 0.9) }
}

async function pauseMs(ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setTimeout(resolve, ms)
  await promise
}
