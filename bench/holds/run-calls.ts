import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { createCreditLine, type CreditWaitEnd } from '#apps/gateway/generation/holds/credit-line.ts'
import { createInputEstimate } from '#apps/gateway/generation/estimates/estimate-input.ts'
import { createExpectedOutput } from '#apps/gateway/generation/estimates/expected-output.ts'
import { createGrowHold, type HoldGrowth } from '#apps/gateway/generation/holds/grow-hold.ts'
import { createReserve } from '#apps/gateway/generation/holds/reserve.ts'
import { createRunningHolds } from '#apps/gateway/generation/holds/running-holds.ts'
import { capOutput, paidOutput } from '#apps/worker/run/paid/cap-output.ts'
import { createPaidOutput } from '#apps/worker/run/paid/paid-output.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatJob, Hold } from '#libs/contracts/generation-job.ts'
import { sizeOf } from '#libs/contracts/request-size.ts'
import type { AnsweredHold } from '#libs/event-bus/worker-control.ts'
import { generationCall } from '../../test/support/generation-call.ts'
import { generationJob } from '../../test/support/generation-job.ts'
import { priceTokens } from '../../test/support/price-tokens.ts'
import type { DrawnCall } from './draw-calls.ts'
import type { VirtualBilling } from './virtual-billing.ts'

/** How a call ended. `neededNano` is the price of its whole answers. */
export type Ended = { readonly neededNano: bigint } & (
  | { readonly kind: 'whole' }
  /** Credits ended an answer. `wasPaid`: the credits that were available at its start would have paid for all of it. */
  | { readonly kind: 'cut'; readonly wasPaid: boolean }
  /** 402. `wasPaid`: the available credits would have paid for it. */
  | { readonly kind: 'refused'; readonly wasPaid: boolean }
)

export type Counted = { growths: Map<HoldGrowth, number>; waits: Map<CreditWaitEnd, number> }

/** The time of a message between a worker and its gateway. */
const BUS_MS = 5
/** A settled hold is free after about this time. */
const SETTLE_MS = 100
const DEADLINE_MS = 600_000
/** Engines give this many tokens at each `step`. */
const STEP_TOKENS = 5
const IDS = new Uint32Array(STEP_TOKENS)

/**
 * Returns functions that run calls with the modules of the gateway and of the worker that decide about holds, in
 * virtual time. Each step of the engines gives every running answer `STEP_TOKENS` tokens.
 */
export function createRuns(options: { billing: VirtualBilling; nowMs: () => number; creditWaitMs: number }) {
  const { billing, nowMs, creditWaitMs } = options
  const counted: Counted = { growths: new Map(), waits: new Map() }
  const inputEstimate = createInputEstimate()
  const expectedOutput = createExpectedOutput()
  const runningHolds = createRunningHolds({ expectedOutput, nowMs })
  const reserve = createReserve({
    billing,
    inputEstimate,
    expectedOutput,
    creditLine: createCreditLine({
      limitMs: creditWaitMs,
      onEnd: (end) => count(counted.waits, end),
      nowMs,
    }),
    runningHolds,
    nowMs,
    releaseHold: (id) => {
      throw new Error(`${id} may have been reserved`)
    },
    toQueueMs: (ownMs) => ownMs,
    onShortage: () => undefined,
  })
  /** The running requests, by the number of their stream. */
  const streams = new Map<number, Stream>()
  const growHold = createGrowHold({
    billing,
    answerHold: (_, answered) =>
      void setTimeout(() => streams.get(answered.stream)?.onHold(answered), BUS_MS),
    onGrowth: (growth) => count(counted.growths, growth),
    log: pino({ level: 'silent' }),
  })
  let lastStream = 0

  async function run(drawn: DrawnCall, caller: { accountId: string; keyId: string }): Promise<Ended> {
    const { model, promptTokens, answers } = drawn
    const most = Math.min(drawn.maxOutputTokens ?? model.maxOutputTokens, model.maxOutputTokens)
    const choices = answers.length
    const output = answers.reduce((sum, tokens) => sum + Math.min(tokens, most), 0)
    const prices = {
      inputPriceNano: BigInt(model.inputPriceNano),
      cachedInputPriceNano: BigInt(model.cachedInputPriceNano),
      outputPriceNano: BigInt(model.outputPriceNano),
    }
    const neededNano = priceTokens({ input: promptTokens, cachedInput: 0, output }, prices)
    const base = generationCall()
    const call = generationCall({
      id: randomUUID(),
      caller: { ...base.caller, ...caller },
      model,
      size: { ...sizeOf(base.request), promptBytes: drawn.promptBytes },
      maxOutputTokens: drawn.maxOutputTokens,
      choices,
    })
    let hold: Hold
    try {
      hold = await reserve.estimated(call, { outputTokens: most, deadlineMs: nowMs() + DEADLINE_MS })
    } catch (error) {
      if (!isShortage(error)) throw error
      return { kind: 'refused', neededNano, wasPaid: billing.available(caller.accountId) >= neededNano }
    }
    const wasPaid = billing.availableAtGrant(call.id) >= neededNano
    inputEstimate.learn(model.id, call.size, promptTokens)
    let job = generationJob({
      id: call.id,
      model: model.id,
      stream: (lastStream += 1),
      hold,
      tenant: caller,
      maxOutputTokens: most,
      contextWindow: model.contextWindow,
      ...(choices > 1 && { choices }),
    })
    const dispatched = {
      job: () => job,
      growHold: (grown: Hold) => void (job = { ...job, hold: grown }),
    }
    const received = answers.map(() => 0)
    const sum = () => received.reduce((all, each) => all + each, 0)
    const used = () => ({
      amountNano: BigInt(job.hold.amountNano),
      usedNano: priceTokens({ input: promptTokens, cachedInput: 0, output: sum() }, prices),
      tokens: sum(),
    })
    const leaveHolds = runningHolds.enter({ call, used })
    await runAnswers(dispatched, { answers, promptTokens, received })
    for (const [choice, tokens] of received.entries()) {
      expectedOutput.learn(model.id, caller.accountId, { tokens, isCut: tokens < (answers[choice] ?? 0) })
    }
    leaveHolds()
    const completionTokens = sum()
    const { receipt } = job.hold
    setTimeout(
      () =>
        billing.settle({
          id: call.id,
          epoch: 1,
          outcome: completionTokens === 0 ? 'fault' : 'completed',
          promptTokens,
          cachedTokens: 0,
          completionTokens,
          by: 'bench',
          receipt,
        }),
      SETTLE_MS,
    )
    return completionTokens === output ? { kind: 'whole', neededNano } : { kind: 'cut', neededNano, wasPaid }
  }

  /** Runs the answers of a request as their worker does, and resolves when all have ended. */
  async function runAnswers(
    dispatched: { job: () => ChatJob; growHold: (grown: Hold) => void },
    of: { answers: readonly number[]; promptTokens: number; received: number[] },
  ): Promise<void> {
    const { answers, promptTokens, received } = of
    const { stream, contextWindow } = dispatched.job()
    let cap = capOutput(dispatched.job(), promptTokens, contextWindow)
    if (cap.status === 'hold-too-small') {
      try {
        dispatched.growHold(await reserve.exact(dispatched.job(), promptTokens))
      } catch (error) {
        if (isShortage(error)) return
        throw error
      }
      cap = capOutput(dispatched.job(), promptTokens, contextWindow)
    }
    if (cap.status !== 'capped') return
    const { maxTokens, paidTokens } = cap
    const mostTokens = answers.length * maxTokens
    const { hold } = dispatched.job()
    let { amountNano } = hold
    const inbox = { stream, worker: () => 'worker-1', epoch: () => 1 }
    const paid = createPaidOutput({
      written: 0,
      paidTokens,
      mostTokens,
      choices: answers.length,
      ask(moreTokens) {
        const short = { type: 'generation-short', amountNano, moreTokens } as const
        setTimeout(() => streams.has(stream) && growHold({ dispatched, inbox }, short), BUS_MS)
      },
    })
    const open = new Set(
      answers.map((tokens, choice) => ({
        choice,
        total: Math.min(tokens, maxTokens),
        produced: 0,
        passOn(ids: ArrayLike<number>) {
          received[choice] = (received[choice] ?? 0) + ids.length
          return ids.length
        },
      })),
    )
    const ended = Promise.withResolvers<void>()
    streams.set(stream, {
      onHold(answered) {
        if (BigInt(answered.amountNano) > BigInt(amountNano)) ({ amountNano } = answered)
        const limits = { input: promptTokens, limit: mostTokens }
        paid.raise(paidOutput({ ...hold, amountNano }, limits), answered.isFinal)
      },
      step() {
        for (const answer of open) {
          const ids = IDS.subarray(0, Math.min(STEP_TOKENS, answer.total - answer.produced))
          answer.produced += ids.length
          if (ids.length > 0) paid.take(ids, answer.passOn)
          if (received[answer.choice] !== answer.total && !paid.isCut(answer.passOn)) continue
          open.delete(answer)
          paid.leave(answer.passOn, maxTokens - (received[answer.choice] ?? 0))
        }
        if (open.size === 0) ended.resolve()
      },
    })
    await ended.promise
    paid.close()
    streams.delete(stream)
  }

  return {
    run,
    /** Gives every running answer its next tokens. */
    step() {
      for (const stream of streams.values()) stream.step()
    },
    counted,
  }
}

type Stream = { onHold(answered: AnsweredHold): void; step(): void }

const isShortage = (error: unknown) => error instanceof ApiError && error.code === 'insufficient_credits'

function count<Name>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
