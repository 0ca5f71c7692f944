import { createClusterPicture } from '#apps/gateway/demand/cluster-picture.ts'
import { createDemand } from '#apps/gateway/demand/demand.ts'
import { createAdmit, type Admission } from '#apps/gateway/generation/admit.ts'
import { createInputEstimate } from '#apps/gateway/generation/estimate-input.ts'
import { createExpectCost } from '#apps/gateway/generation/expected-cost.ts'
import { createExpectedOutput } from '#apps/gateway/generation/expected-output.ts'
import { toRetryAfterS } from '#apps/gateway/retry-after.ts'
import { createRunTotals } from '#apps/worker/run/run-totals.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { generationCall } from './generation-call.ts'
import { generationClaim } from './generation-job.ts'
import { createRandom } from './random.ts'
import { createRecordModel } from './record-model.ts'

export type SimulatedAccount = {
  readonly id: string
  readonly weight: number
  /** The number of clients. From `fromMs` on, each client sends its next request when its last one has ended. */
  readonly clients: number
  readonly fromMs: number
  /** How many requests each client sends. */
  readonly requests: number
  /** True if a refused request is sent again after the time in `retry-after`; otherwise its client stops. */
  readonly repeats: boolean
  /** Tokens of prompt and output of the next request; `random` gives numbers from 0 to 1. */
  readonly size: (random: () => number) => { prompt: number; output: number }
}

export type Simulated = {
  /** The used tokens of the requests that ended after `measureFromMs`, by account. */
  readonly tokens: ReadonlyMap<string, number>
  /** How long each admitted request waited for a slot, by account. */
  readonly waitsMs: ReadonlyMap<string, readonly number[]>
  /**
   * All refusals. `saidMs` is the time in the refusal's `retry-after`. `realMs` is the time after which a request of
   * the account would first have been admitted.
   */
  readonly refusals: readonly { readonly account: string; readonly saidMs: number; readonly realMs: number }[]
}

type Request = {
  id: string
  account: SimulatedAccount
  prompt: number
  output: number
  admission: Admission
  liftedMs: number
  next: () => void
}

const MODEL = 'demo-chat'
const BYTES_PER_TOKEN = 4
/** The time that an engine takes for a token of the prompt, as a share of the time for a token of the output. */
const PREFILL_SHARE = 0.01
const BEAT_MS = 1_000
const NO_IDS = new Uint32Array(0)
const PROBE_MS = 100

/**
 * Simulates the queue of one model in simulated time:
 * - Admission and estimates use the gateway's code.
 * - `createRecordModel`, with which tests compare the record's scripts, takes the place of the record in Redis.
 * - Each slot of the engine takes `stepMs` for a token of output.
 */
export function simulateQueue(given: {
  accounts: readonly SimulatedAccount[]
  slots: number
  stepMs: number
  untilMs: number
  measureFromMs: number
  seed: number
}): Simulated {
  const { accounts, slots, stepMs, untilMs, measureFromMs } = given
  const random = createRandom(given.seed)
  const clock = { ms: 0 }
  const nowMs = () => clock.ms
  const timers = createTimers(clock)
  const record = createRecordModel()
  const picture = createClusterPicture(nowMs)
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
    drainBoundMs: 30_000,
    assumedGenerationMs: 10_000,
    random,
    nowMs,
  })
  const requests = new Map<string, Request>()
  const tokens = new Map<string, number>()
  const waitsMs = new Map<string, number[]>()
  const refusals: { account: string; saidMs: number; realMs: number }[] = []
  const open = new Map<string, { atMs: number; saidMs: number }[]>()
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

  const liftOf = (id: string, place: Admission['place'], accountBytes: number) =>
    record.lift({
      id,
      epoch: 1,
      needs: { features: ['chat'], window: 0 },
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
    const attempt = () => {
      const retry = (error: unknown) => {
        if (!(error instanceof ApiError)) throw error
        const saidMs = 1_000 * toRetryAfterS(error.retryAfterS ?? 1)
        listOf(open, account.id).push({ atMs: nowMs(), saidMs })
        if (account.repeats) timers.add(saidMs, attempt)
      }
      try {
        const admission = admit(callOf(account, prompt))
        const id = `g${(ids += 1)}`
        const lifted = liftOf(id, admission.place, Infinity)
        if (lifted.status === 'busy') {
          admission.leave()
          return retry(admission.refuse(lifted))
        }
        if (lifted.status === 'waiting' && lifted.costAhead !== null) admission.queued(lifted.costAhead)
        const next = () => send(account, left - 1)
        requests.set(id, { id, account, prompt, output, admission, liftedMs: nowMs(), next })
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
      const { account, prompt, output, admission, liftedMs } = request
      running += 1
      admission.claimed({ waitedMs: nowMs() - liftedMs })
      inputEstimate.learn(MODEL, { promptBytes: prompt * BYTES_PER_TOKEN }, prompt)
      listOf(waitsMs, account.id).push(nowMs() - liftedMs)
      const ms = (output + prompt * PREFILL_SHARE) * stepMs
      timers.add(ms, () => end(request, ms))
    }
  }

  function end({ id, account, prompt, output, admission, next }: Request, ms: number): void {
    running -= 1
    requests.delete(id)
    const used = prompt + output
    admission.leave()
    record.settle({ id, epoch: 1, outcome: 'completed', tokens: used }, { role: 'gateway' })
    expectedOutput.learn(MODEL, account.id, { tokens: output, isCut: false })
    const usage = { promptTokens: prompt, cachedTokens: 0, completionTokens: output, reasoningTokens: 0 }
    const counted = { tokens: output, mostTokens: null, firstMs: 0, lastMs: ms }
    totals.noteEnd({ usage, output: counted, earlierIds: NO_IDS, hasOutput: () => true }, ms)
    if (nowMs() >= measureFromMs) tokens.set(account.id, (tokens.get(account.id) ?? 0) + used)
    fill()
    next()
  }

  function beat(): void {
    const engine = { model: MODEL, ready: true, slots, running, contextWindow: 1_000_000 }
    const measured = { meanGenerationMs: totals.meanMs(), slotTokensPerS: totals.slotTokensPerS() }
    const engines = [{ ...engine, ...measured }]
    picture.applyHeartbeat({ id: 'w', form: 2, kind: 'worker', name: 'w', late: false, engines })
    timers.add(BEAT_MS, beat)
  }

  /** Finds out which refusals are over: a lift that allows no bytes is refused for its bytes once there is room. */
  function probe(): void {
    for (const account of accounts) {
      const waiting = open.get(account.id)
      if (waiting === undefined || !hasRoom(account)) continue
      open.delete(account.id)
      for (const { atMs, saidMs } of waiting) {
        if (atMs >= measureFromMs) refusals.push({ account: account.id, saidMs, realMs: nowMs() - atMs })
      }
    }
    timers.add(PROBE_MS, probe)
  }

  function hasRoom(account: SimulatedAccount): boolean {
    try {
      const admission = admit(callOf(account, 1))
      admission.leave()
      const lifted = liftOf('probe', admission.place, -1)
      return lifted.status === 'busy' && lifted.reason === 'bytes'
    } catch {
      return false
    }
  }

  beat()
  probe()
  for (const account of accounts) {
    for (let client = 0; client < account.clients; client += 1) {
      timers.add(account.fromMs, () => send(account, account.requests))
    }
  }
  timers.runUntil(untilMs)
  return { tokens, waitsMs, refusals }
}

function listOf<Value>(lists: Map<string, Value[]>, name: string): Value[] {
  const list = lists.get(name) ?? []
  lists.set(name, list)
  return list
}

/** Runs callbacks in the order of their times, and those of one time in the order in which they were added. */
function createTimers(clock: { ms: number }) {
  /** The last one is the next one. */
  const timers: { atMs: number; run: () => void }[] = []
  return {
    add(afterMs: number, run: () => void) {
      const atMs = clock.ms + afterMs
      let [low, high] = [0, timers.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if ((timers[middle]?.atMs ?? 0) > atMs) low = middle + 1
        else high = middle
      }
      // Timers of one time that were added later come before, so they run later.
      while (low > 0 && timers[low - 1]?.atMs === atMs) low -= 1
      timers.splice(low, 0, { atMs, run })
    },
    runUntil(untilMs: number) {
      for (let next = timers.pop(); next !== undefined && next.atMs <= untilMs; next = timers.pop()) {
        clock.ms = next.atMs
        next.run()
      }
    },
  }
}
