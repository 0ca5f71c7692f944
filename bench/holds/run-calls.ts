import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { createCreditLine, type CreditWaitEnd } from '#apps/gateway/generation/credit-line.ts'
import { createInputEstimate } from '#apps/gateway/generation/estimate-input.ts'
import { createExpectedOutput } from '#apps/gateway/generation/expected-output.ts'
import { createGrowHold, type HoldGrowth } from '#apps/gateway/generation/grow-hold.ts'
import { createHoldShares, type HoldShares } from '#apps/gateway/generation/hold-shares.ts'
import { createReserve } from '#apps/gateway/generation/reserve.ts'
import { createRunningHolds } from '#apps/gateway/generation/running-holds.ts'
import { capOutput, paidOutput } from '#apps/worker/run/cap-output.ts'
import { createPaidOutput } from '#apps/worker/run/paid-output.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { toChoiceId } from '#libs/contracts/choices.ts'
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
  /** The running answers, by the number of their stream. */
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
    const shares = createHoldShares(hold, choices)
    const received = answers.map(() => 0)
    const used = () => {
      const tokens = received.reduce((sum, each) => sum + each, 0)
      const amountNano = BigInt(shares.whole().amountNano)
      return {
        amountNano,
        usedNano: priceTokens({ input: promptTokens, cachedInput: 0, output: tokens }, prices),
        tokens,
      }
    }
    const leaveHolds = runningHolds.enter({ call, used })
    const ends = await Promise.all(
      answers.map(async (tokens, choice) => {
        const job = generationJob({
          id: toChoiceId(call.id, choice),
          model: model.id,
          stream: (lastStream += 1),
          hold: shares.of(choice),
          tenant: caller,
          maxOutputTokens: most,
          contextWindow: model.contextWindow,
        })
        const ended = await runAnswer(job, {
          shares,
          choice,
          tokens,
          promptTokens,
          onTokens: (passedOn) => void (received[choice] = passedOn),
        })
        shares.completed(choice, { promptTokens, completionTokens: ended.tokens })
        expectedOutput.learn(model.id, caller.accountId, ended)
        return ended
      }),
    )
    leaveHolds()
    const completionTokens = ends.reduce((sum, { tokens }) => sum + tokens, 0)
    const { receipt } = shares.whole()
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

  /** Runs one answer as its worker does, and resolves when it has ended. */
  async function runAnswer(
    job: ChatJob,
    of: {
      shares: HoldShares
      choice: number
      tokens: number
      promptTokens: number
      onTokens: (passedOn: number) => void
    },
  ): Promise<{ tokens: number; isCut: boolean }> {
    const { shares, choice, promptTokens } = of
    let cap = capOutput(job, promptTokens, job.contextWindow)
    if (cap.status === 'hold-too-small') {
      try {
        const { choices } = shares
        const ask = (hold: Hold) => reserve.exact({ ...job, hold }, { promptTokens, choices })
        job = { ...job, hold: await shares.replace(choice, promptTokens, ask) }
      } catch (error) {
        if (isShortage(error)) return { tokens: 0, isCut: true }
        throw error
      }
      cap = capOutput(job, promptTokens, job.contextWindow)
    }
    if (cap.status !== 'capped') return { tokens: 0, isCut: true }
    shares.claimed()
    const { maxTokens: mostTokens, paidTokens } = cap
    const total = Math.min(of.tokens, mostTokens)
    let { hold } = job
    let produced = 0
    let passedOn = 0
    const dispatched = {
      job: () => job,
      growHold: (grown: Hold) => void (job = { ...job, hold: grown }),
    }
    const inbox = { stream: job.stream, worker: () => 'worker-1', epoch: () => 1 }
    const paid = createPaidOutput({
      written: 0,
      paidTokens,
      mostTokens,
      ask(moreTokens) {
        const short = { type: 'generation-short', amountNano: hold.amountNano, moreTokens } as const
        setTimeout(
          () => streams.has(job.stream) && growHold({ dispatched, inbox, shares, choice }, short),
          BUS_MS,
        )
      },
      onPaid: (ids) => void (passedOn += ids.length),
    })
    const ended = Promise.withResolvers<void>()
    streams.set(job.stream, {
      onHold({ amountNano, share = hold, isFinal }) {
        const isLarger =
          BigInt(amountNano) > BigInt(hold.amountNano) || share.outputTokens > hold.outputTokens
        if (isLarger) hold = { ...hold, ...share, amountNano }
        paid.raise(paidOutput(hold, { input: promptTokens, limit: mostTokens }), isFinal)
      },
      step() {
        const ids = IDS.subarray(0, Math.min(STEP_TOKENS, total - produced))
        produced += ids.length
        if (ids.length > 0) passedOn += paid.take(ids).length
        of.onTokens(passedOn)
        if (passedOn === total || paid.isOver()) ended.resolve()
      },
    })
    await ended.promise
    paid.close()
    streams.delete(job.stream)
    return { tokens: passedOn, isCut: passedOn < of.tokens }
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
