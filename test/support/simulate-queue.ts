import { createRefusals } from '#apps/gateway/generation/admission/refusals.ts'
import { createClusterPicture, type ClusterPicture } from '#apps/gateway/demand/cluster-picture.ts'
import { createDemand } from '#apps/gateway/demand/demand.ts'
import { createAdmit, type Admission } from '#apps/gateway/generation/admission/admit.ts'
import { createInputEstimate } from '#apps/gateway/generation/estimates/estimate-input.ts'
import { createExpectCost } from '#apps/gateway/generation/estimates/expected-cost.ts'
import { createExpectedOutput } from '#apps/gateway/generation/estimates/expected-output.ts'
import { toRetryAfterS } from '#apps/gateway/retry-after.ts'
import { createRunTotals } from '#apps/worker/run/measure/run-totals.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { generationCall } from './generation-call.ts'
import { generationClaim } from './generation-job.ts'
import { createRandom } from './random.ts'
import { createTimers } from './simulated-timers.ts'
import { createRecordModel } from './record-model.ts'

export type SimulatedAccount = {
  readonly id: string
  readonly weight: number
  /**
   * How many requests per second arrive at random moments from `fromMs` on, each from a client that sends no other
   * request. Absent: none.
   */
  readonly arrivalsPerS?: number
  /** The number of clients. From `fromMs` on, each client sends its next request when its last one has ended. */
  readonly clients: number
  readonly fromMs: number
  /** How many requests each client sends. */
  readonly requests: number
  /** True if a refused request is sent again after the time in `retry-after`; otherwise its client stops. */
  readonly repeats: boolean
  /** How often a client sends the same request at most. Absent: until it is admitted. */
  readonly tries?: number
  /** Tokens of prompt and output of the next request; `random` gives numbers from 0 to 1. */
  readonly size: (random: () => number) => { prompt: number; output: number }
}

export type Simulated = {
  /** The used tokens of the requests that ended after `measureFromMs`, by account. */
  readonly tokens: ReadonlyMap<string, number>
  /** How long each admitted request waited for a slot, by account. */
  readonly waitsMs: ReadonlyMap<string, readonly number[]>
  /** The refusals after `measureFromMs` whose real wait has ended. */
  readonly refusals: readonly SimulatedRefusal[]
  /** The number of requests that were admitted after `measureFromMs`. */
  readonly admitted: number
  /** The number of enqueues that the record has refused after `measureFromMs`. */
  readonly refusedEnqueues: number
}

export type SimulatedRefusal = {
  readonly account: string
  /** The time in the refusal's `retry-after`. */
  readonly saidMs: number
  /**
   * The real wait: the time until the earliest later moment at which the gateway that refused the request would have
   * admitted the same request.
   */
  readonly realMs: number
}

type Request = {
  id: string
  account: SimulatedAccount
  prompt: number
  output: number
  admission: Admission
  enqueuedMs: number
  gateway: Gateway
  next: () => void
}

const MODEL = 'demo-chat'
const BYTES_PER_TOKEN = 4
/** The time that an engine takes for a token of the prompt, as a share of the time for a token of the output. */
const PREFILL_SHARE = 0.01
const BEAT_MS = 1_000
const ONE = { length: 1 }
const DRAIN_BOUND_MS = 30_000
const PROBE_MS = 100

/**
 * Simulates the queue of one model in simulated time:
 * - Admission and estimates use the gateway's code.
 * - `createRecordModel`, with which tests compare the record's scripts, takes the place of the record in Redis.
 * - Each gateway has its own admission and its own estimates.
 * - Each slot of the engine takes `stepMs` for a token of output.
 */
export function simulateQueue(given: {
  accounts: readonly SimulatedAccount[]
  slots: number
  stepMs: number
  untilMs: number
  measureFromMs: number
  seed: number
  /** How many gateways there are. Each attempt goes to one of them at random. Absent: one. */
  gateways?: number
  /** The rule for refusals. Absent: that of the gateway. */
  createRefusals?: typeof createRefusals
}): Simulated {
  const { accounts, slots, stepMs, untilMs, measureFromMs } = given
  const random = createRandom(given.seed)
  const clock = { ms: 0 }
  const nowMs = () => clock.ms
  const timers = createTimers(clock)
  const record = createRecordModel()
  const picture = createClusterPicture(nowMs)
  const gateways = Array.from({ length: given.gateways ?? 1 }, () =>
    createGateway({ picture, random, nowMs, createRefusals: given.createRefusals ?? createRefusals }),
  )
  const requests = new Map<string, Request>()
  const tokens = new Map<string, number>()
  const waitsMs = new Map<string, number[]>()
  const refusals: SimulatedRefusal[] = []
  const open = new Map<string, { atMs: number; saidMs: number }[]>()
  let [admitted, refusedEnqueues] = [0, 0]
  const totals = createRunTotals(() => [])
  let running = 0
  let ids = 0

  const anyCall = generationCall()
  const model = { ...anyCall.model, id: MODEL, maxOutputTokens: 100_000, contextWindow: 1_000_000 }
  const callOf = ({ id, weight }: SimulatedAccount, prompt: number) => ({
    ...anyCall,
    model,
    caller: { ...anyCall.caller, accountId: id, weight },
    size: { ...anyCall.size, promptBytes: prompt * BYTES_PER_TOKEN, grammarTokens: 0 },
  })

  const enqueueOf = (id: string, place: Admission['place'], accountBytes: number) =>
    record.enqueue({
      id,
      epoch: 1,
      requirements: { features: ['chat'], window: 0 },
      tag: null,
      place,
      bounds: { accountBytes, modelBytes: Infinity },
      gateway: 'gateway',
      bytes: 1,
      ids: [],
    })

  function send(account: SimulatedAccount, left: number): void {
    if (left === 0) return
    const { prompt, output } = account.size(random)
    let tries = 0
    const attempt = () => {
      const at = Math.floor(random() * gateways.length)
      const gateway = gateways[at]
      if (gateway === undefined) throw new Error('there is no gateway')
      const { admit } = gateway
      tries += 1
      const retry = (error: unknown) => {
        if (!(error instanceof ApiError)) throw error
        const saidMs = 1_000 * toRetryAfterS(error.retryAfterS ?? 1)
        listOf(open, toName(at, account)).push({ atMs: nowMs(), saidMs })
        if (account.repeats && tries < (account.tries ?? Infinity)) timers.add(saidMs, attempt)
      }
      try {
        const admission = admit(callOf(account, prompt))
        const id = `g${(ids += 1)}`
        const enqueued = enqueueOf(id, admission.place, Infinity)
        if (enqueued.status === 'busy') {
          if (nowMs() >= measureFromMs) refusedEnqueues += 1
          admission.leave()
          return retry(admission.refuse(enqueued))
        }
        if (nowMs() >= measureFromMs) admitted += 1
        close(toName(at, account), account)
        if (enqueued.status === 'waiting' && enqueued.costAhead !== null) admission.queued()
        const next = () => send(account, left - 1)
        requests.set(id, { id, account, prompt, output, admission, enqueuedMs: nowMs(), gateway, next })
        fill()
      } catch (error) {
        retry(error)
      }
    }
    attempt()
  }

  function fill(): void {
    while (running < slots) {
      const claim = record.claim(generationClaim({ nonce: `n${(ids += 1)}` }))
      if (claim.status === 'nothing') return
      const request = requests.get(claim.id)
      if (request === undefined) throw new Error('an unknown generation was claimed')
      const { account, prompt, output, admission, enqueuedMs, gateway } = request
      running += 1
      admission.claimed()
      gateway.inputEstimate.learn(MODEL, { promptBytes: prompt * BYTES_PER_TOKEN }, prompt)
      listOf(waitsMs, account.id).push(nowMs() - enqueuedMs)
      const ms = (output + prompt * PREFILL_SHARE) * stepMs
      timers.add(ms, () => end(request, ms))
    }
  }

  function end({ id, account, prompt, output, admission, gateway, next }: Request, ms: number): void {
    running -= 1
    requests.delete(id)
    const used = prompt + output
    admission.leave()
    record.settle({ id, epoch: 1, outcome: 'completed', tokens: used }, { role: 'gateway' })
    gateway.expectedOutput.learn(MODEL, account.id, { tokens: output, isCut: false })
    const usage = { promptTokens: prompt, cachedTokens: 0, completionTokens: output, reasoningTokens: 0 }
    const counted = { tokens: output, mostTokens: null, firstMs: 0, lastMs: ms }
    totals.noteEnd({ usage, output: counted, earlierTokens: 0, choices: ONE, hasOutput: () => true }, ms)
    if (nowMs() >= measureFromMs) tokens.set(account.id, (tokens.get(account.id) ?? 0) + used)
    fill()
    next()
  }

  function beat(): void {
    const engine = { model: MODEL, ready: true, slots, running, contextWindow: 1_000_000 }
    const measured = { meanGenerationMs: totals.meanMs(), slotTokensPerS: totals.slotTokensPerS() }
    const engines = [{ ...engine, ...measured }]
    picture.applyHeartbeat({ id: 'w', kind: 'worker', engines })
    timers.add(BEAT_MS, beat)
  }

  /** Finds out which refusals are over: an enqueue that allows no bytes is refused for its bytes once there is room. */
  function probe(): void {
    for (const account of accounts) {
      for (const [at, gateway] of gateways.entries()) {
        const name = toName(at, account)
        if (open.has(name) && hasRoom(account, gateway)) close(name, account)
      }
    }
    timers.add(PROBE_MS, probe)
  }

  function close(name: string, account: SimulatedAccount): void {
    const waiting = open.get(name) ?? []
    open.delete(name)
    for (const { atMs, saidMs } of waiting) {
      if (atMs >= measureFromMs) refusals.push({ account: account.id, saidMs, realMs: nowMs() - atMs })
    }
  }

  function hasRoom(account: SimulatedAccount, { admit }: Gateway): boolean {
    try {
      const admission = admit(callOf(account, 1))
      admission.leave()
      const enqueued = enqueueOf('probe', admission.place, -1)
      return enqueued.status === 'busy' && enqueued.reason === 'bytes'
    } catch {
      return false
    }
  }

  function arrive(account: SimulatedAccount, perS: number): void {
    send(account, 1)
    timers.add((-Math.log(1 - random()) * 1_000) / perS, () => arrive(account, perS))
  }

  beat()
  probe()
  for (const account of accounts) {
    for (let client = 0; client < account.clients; client += 1) {
      timers.add(account.fromMs, () => send(account, account.requests))
    }
    const { arrivalsPerS } = account
    if (arrivalsPerS !== undefined) timers.add(account.fromMs, () => arrive(account, arrivalsPerS))
  }
  timers.runUntil(untilMs)
  return { tokens, waitsMs, refusals, admitted, refusedEnqueues }
}

const toName = (gateway: number, { id }: SimulatedAccount) => `${gateway} ${id}`

type Gateway = ReturnType<typeof createGateway>

function createGateway(deps: {
  picture: ClusterPicture
  random: () => number
  nowMs: () => number
  createRefusals: typeof createRefusals
}) {
  const { picture, random, nowMs } = deps
  const inputEstimate = createInputEstimate()
  const expectedOutput = createExpectedOutput()
  const admit = createAdmit({
    picture,
    modelStates: { find: () => null },
    demand: createDemand({ onUnserved: () => {}, nowMs }),
    startWaits: {
      admits: () => false,
      enter: () => {
        throw new Error('a worker serves the model')
      },
    },
    isBarred: () => false,
    settlementsFull: () => false,
    expectCost: createExpectCost({ inputEstimate, expectedOutput }),
    refusals: deps.createRefusals({ drainBoundMs: DRAIN_BOUND_MS, nowMs }),
    drainBoundMs: DRAIN_BOUND_MS,
    assumedGenerationMs: 10_000,
    random,
  })
  return { admit, inputEstimate, expectedOutput }
}

function listOf<Value>(lists: Map<string, Value[]>, name: string): Value[] {
  const list = lists.get(name) ?? []
  lists.set(name, list)
  return list
}
