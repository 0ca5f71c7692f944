import { z } from 'zod'
import { parseCredits } from '#libs/money/nano-credits.ts'
import { demoPrices } from '#test/support/catalog.ts'
import type { PartEnd } from '#test/support/faulty-cluster/part.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import type { Ask } from './asks.ts'
import type { Call } from './call.ts'
import { readAnswer } from './read-answer.ts'
import { BrokenAnswer, type Received, type Usage } from './read/received.ts'

/** The answer to an ask in a cluster without faults. */
export type Known = {
  readonly answer: Received
  readonly bytes: number
  /** Taken from the settlement, because not every answer contains its usage. */
  readonly promptTokens: number
  readonly completionTokens: number
}

/** How a request ended. */
export type Outcome =
  /** The known answer. `usage` is null if the operation has none. */
  | { readonly kind: 'exact'; readonly usage: Usage | null }
  /** The beginning of the known answer, ended at the deadline with the finish reason `length`. */
  | { readonly kind: 'cut-short'; readonly usage: Usage | null }
  /**
   * The beginning of the known answer, ended with the finish reason `length` because the account's credits ended. Only
   * an account with few credits may get it.
   */
  | { readonly kind: 'unpaid'; readonly usage: Usage | null }
  /** 402, for an account with few credits. */
  | { readonly kind: 'no-credits' }
  /**
   * `streamed` is true if a part of the answer had arrived. A stream that began with a comment alone is not `streamed`.
   */
  | { readonly kind: 'error'; readonly code: string; readonly streamed: boolean }
  /** The gateway was down, or it stopped before it answered. */
  | { readonly kind: 'unreachable' }
  /** The gateway was killed. */
  | { readonly kind: 'lost' }
  /** The client hung up. `share` is the part of the known answer that it had received. */
  | { readonly kind: 'left'; readonly share: number }
  | { readonly kind: 'wrong'; readonly why: string }

const ErrorBody = z.object({ error: z.object({ code: z.string(), message: z.string().optional() }) })

const NO_CREDITS = 'insufficient_credits'
/** A gateway expects this many tokens before it knows enough answers (`expected-output.ts`). */
const UNLEARNED_TOKENS = 1_024

/** The codes with which a correct request with credits may be refused. */
const HONEST = new Set(['model_busy', 'model_warming', 'model_unavailable', 'upstream_error'])

export function judge(options: {
  ask: Ask
  known: Known
  call: Call
  /** True if the account has few credits, which may end. */
  isPoor: boolean
  /** The ends of the call's gateway. */
  gatewayEnds: readonly PartEnd[]
  deadlineMs: number
}): Outcome {
  try {
    return judgeAnswer(options)
  } catch (error) {
    if (error instanceof BrokenAnswer) return { kind: 'wrong', why: error.message }
    throw error
  }
}

function judgeAnswer(options: Parameters<typeof judge>[0]): Outcome {
  const { ask, known, call, gatewayEnds } = options
  if (call.end === 'hang') return wrong(`no end within ${Math.round(call.endMs - call.startMs)} ms`)
  if (call.status !== null && call.status !== 200 && call.end === 'complete') return judgeError(options)
  const ends = gatewayEnds.filter(({ atMs }) => atMs > call.startMs - 1_000 && atMs < call.endMs + 1_000)
  if (call.status === null) {
    if (ends.length > 0 || call.end === 'refused') return { kind: 'unreachable' }
    return wrong('the connection broke before an answer, and its gateway was not killed')
  }
  const answer = readAnswer(ask.shape, call.end === 'complete' || isStream(ask) ? call.body : '')
  const difference = firstDifference(known.answer, answer)
  if (difference !== null) return wrong(difference)
  if (call.end === 'left') return { kind: 'left', share: call.body.length / known.bytes }
  if (answer.error === NO_CREDITS && options.isPoor && Object.keys(answer.output).length === 0)
    return { kind: 'no-credits' }
  if (answer.error !== null)
    return HONEST.has(answer.error)
      ? { kind: 'error', code: answer.error, streamed: Object.keys(answer.output).length > 0 }
      : wrong(`the error ${answer.error}`)
  if (answer.ended) return judgeWhole(answer, options)
  if (call.end === 'lost' && ends.some(({ how }) => how === 'killed')) return { kind: 'lost' }
  return wrong(`the answer breaks off (${call.end}), and its gateway was not killed`)
}

function judgeError({ ask, known, call, isPoor }: Parameters<typeof judge>[0]): Outcome {
  const parsed = ErrorBody.safeParse(JSON.parse(call.body))
  if (!parsed.success) return wrong(`status ${call.status} without a code: ${call.body}`)
  const { code, message = '' } = parsed.data.error
  if (code === NO_CREDITS && call.status === 402 && isPoor) {
    const [, available] = /([\d.]+) available/u.exec(message) ?? []
    const isShort = available !== undefined && parseCredits(available) < mostNeeded(ask, known)
    return isShort ? { kind: 'no-credits' } : wrong(`402 although the credits suffice: ${message}`)
  }
  return HONEST.has(code)
    ? { kind: 'error', code, streamed: false }
    : wrong(`status ${call.status}: ${call.body}`)
}

/**
 * Returns an amount above which no account may be refused. It pays for more input than the request has, and for an
 * output of the length that a gateway expects before it has seen an answer, or of the known answer's length if that is
 * longer.
 */
function mostNeeded({ model, body }: Ask, { completionTokens }: Known): bigint {
  const input = Buffer.byteLength(JSON.stringify(body))
  return priceTokens(
    { input, cachedInput: 0, output: Math.max(UNLEARNED_TOKENS, completionTokens) },
    demoPrices(model),
  )
}

function judgeWhole(answer: Received, options: Parameters<typeof judge>[0]): Outcome {
  const { known, call, isPoor, deadlineMs } = options
  const { usage: received } = answer
  const isCut =
    ['length', 'incomplete'].includes(answer.finish ?? '') &&
    (received?.completion ?? 0) < known.completionTokens
  if (isCut && call.endMs - call.startMs > deadlineMs * 0.8) return { kind: 'cut-short', usage: received }
  if (isCut && isPoor) return { kind: 'unpaid', usage: received }
  for (const [part, text] of Object.entries(known.answer.output)) {
    if (answer.output[part] !== text) return wrong(`${part} ends early: …${tail(answer.output[part] ?? '')}`)
  }
  if (answer.finish !== known.answer.finish)
    return wrong(`the finish is ${answer.finish}, not ${known.answer.finish}`)
  const { usage } = answer
  if (usage === null) return { kind: 'exact', usage }
  const expected = known.answer.usage
  const isSame =
    usage.prompt === expected?.prompt &&
    usage.completion === expected.completion &&
    usage.reasoning === expected.reasoning &&
    usage.cached <= usage.prompt
  return isSame
    ? { kind: 'exact', usage }
    : wrong(`the usage is ${JSON.stringify(usage)}, not ${JSON.stringify(expected)}`)
}

/** Returns the first place at which the received texts differ from the known ones; null if they agree. */
function firstDifference(known: Received, answer: Received): string | null {
  for (const [part, text] of Object.entries(answer.output)) {
    const expected = known.output[part]
    if (expected === undefined) return `a part that should not be: ${part} ${text}`
    if (expected.startsWith(text)) continue
    let at = 0
    while (expected[at] === text[at]) at += 1
    return `${part} differs at ${at}: …${around(text, at)}… instead of …${around(expected, at)}…`
  }
  return null
}

const around = (text: string, at: number) => JSON.stringify(text.slice(Math.max(0, at - 40), at + 40))
const tail = (text: string) => JSON.stringify(text.slice(-40))
const isStream = (ask: Ask) => ask.shape.endsWith('-stream')
const wrong = (why: string): Outcome => ({ kind: 'wrong', why })
