import { MAX_CHOICES } from '#libs/contracts/choices.ts'
import {
  BLAMES,
  DECLINE_REASONS,
  FINISH_REASONS,
  GENERATION_ERROR_CODES,
  type ChoiceEnd,
  type GenerationEnd,
  type GenerationEvent,
  type Logprob,
  type PromptLogprob,
  type TokenLogprob,
} from '#libs/contracts/generation-event.ts'
import { FrameError, readArray, readBoolean, readNumber, readOneOf, readText } from './frame-values.ts'

/** Appends an event to a frame, as the code of its type and its value. */
export function appendEvent<Type extends EventType>(parts: unknown[], event: EventOf<Type>): void {
  const codecs: Codecs = CODECS
  const { code, toValue } = codecs[event.type]
  parts.push(code, toValue(event))
}

/** An event that cannot be read, because another release sent it or it is damaged. Only its own stream fails. */
export type Unreadable = { readonly type: 'unreadable'; readonly code: unknown }

/** Returns the event that `appendEvent` wrote; `worker` is the sender of the frame. */
export function toEvent(code: unknown, value: unknown, worker: string): GenerationEvent | Unreadable {
  const fromValue = typeof code === 'number' ? FROM_VALUE[code] : undefined
  if (fromValue === undefined) return { type: 'unreadable', code }
  try {
    return fromValue(value, worker)
  } catch (error) {
    if (error instanceof FrameError) return { type: 'unreadable', code }
    throw error
  }
}

type EventType = GenerationEvent['type']
type EventOf<Type extends EventType> = {
  [Each in Type]: Extract<GenerationEvent, { readonly type: Each }> & { readonly type: Each }
}[Type]

type Codec<Type extends EventType> = {
  readonly code: number
  readonly toValue: (event: EventOf<Type>) => unknown
  readonly fromValue: (value: unknown, worker: string) => Extract<GenerationEvent, { readonly type: Type }>
}
type Codecs = { readonly [Type in EventType]: Codec<Type> }

/** An event type without an entry does not compile, and neither do two entries with the same code. */
const CODECS = {
  'generation-claimed': {
    code: 0,
    toValue: ({ promptTokens, after, guided, waitedMs }) =>
      waitedMs === undefined ? [promptTokens, after, guided] : [promptTokens, after, guided, waitedMs],
    fromValue(value, worker) {
      const [promptTokens, after, guided, waitedMs] = readArray(value)
      return {
        type: 'generation-claimed',
        worker,
        promptTokens: readNumber(promptTokens),
        after: readNumber(after),
        guided: readBoolean(guided),
        ...(waitedMs !== undefined && { waitedMs: readNumber(waitedMs) }),
      }
    },
  },
  'generation-declined': {
    code: 1,
    toValue: (event) => [event.reason, event.promptTokens, event.requirement, event.blame],
    fromValue(value) {
      const [reason, promptTokens, requirement, blame] = readArray(value)
      return {
        type: 'generation-declined',
        reason: readOneOf(reason, DECLINE_REASONS),
        promptTokens: readNumber(promptTokens),
        requirement: readText(requirement),
        blame: readOneOf(blame, BLAMES),
      }
    },
  },
  'reasoning-delta': {
    code: 2,
    toValue: (event) => event.text,
    fromValue: (value) => ({ type: 'reasoning-delta', text: readText(value) }),
  },
  'text-delta': {
    code: 3,
    toValue: (event) => event.text,
    fromValue: (value) => ({ type: 'text-delta', text: readText(value) }),
  },
  'tool-call-start': {
    code: 4,
    toValue: (event) => [event.index, event.id, event.name],
    fromValue(value) {
      const [index, id, name] = readArray(value)
      return { type: 'tool-call-start', index: readNumber(index), id: readText(id), name: readText(name) }
    },
  },
  'tool-call-delta': {
    code: 5,
    toValue: (event) => [event.index, event.text],
    fromValue(value) {
      const [index, text] = readArray(value)
      return { type: 'tool-call-delta', index: readNumber(index), text: readText(text) }
    },
  },
  'generation-end': {
    code: 6,
    toValue: toEndValue,
    fromValue: (value) => ({ type: 'generation-end', ...readEnd(value) }),
  },
  'generation-error': {
    code: 7,
    toValue: ({ code, message, isCharged }) =>
      isCharged === undefined ? [code, message] : [code, message, isCharged],
    fromValue(value) {
      const [code, message, isCharged] = readArray(value)
      return {
        type: 'generation-error',
        code: readOneOf(code, GENERATION_ERROR_CODES),
        message: readText(message),
        ...(isCharged === true && { isCharged }),
      }
    },
  },
  'vectors-ready': {
    code: 8,
    toValue: (event) => [event.first, event.count, event.promptTokens],
    fromValue(value) {
      const [first, count, promptTokens] = readArray(value)
      return {
        type: 'vectors-ready',
        first: readNumber(first),
        count: readNumber(count),
        promptTokens: readNumber(promptTokens),
      }
    },
  },
  'prompt-cached': {
    code: 9,
    toValue: (event) => event.cachedTokens,
    fromValue: (value) => ({ type: 'prompt-cached', cachedTokens: readNumber(value) }),
  },
  'generation-short': {
    code: 10,
    toValue: (event) => [event.amountNano, event.moreTokens],
    fromValue(value) {
      const [amountNano, moreTokens] = readArray(value)
      return {
        type: 'generation-short',
        amountNano: readText(amountNano),
        moreTokens: readNumber(moreTokens),
      }
    },
  },
  'token-logprobs': {
    code: 11,
    // One flat array for each token, because names would make up most of the bytes.
    toValue: (event) => event.tokens.map(({ top, ...own }) => [own, ...top].flatMap(toPair)),
    fromValue: (value) => ({ type: 'token-logprobs', tokens: readArray(value).map(readTokenLogprob) }),
  },
  'prompt-logprobs': {
    code: 12,
    toValue: ({ first, tokens }) => [
      first,
      ...tokens.map(({ token, logprob, top }) => [token, logprob, ...top.flatMap(toPair)]),
    ],
    fromValue(value) {
      const [first, ...tokens] = readArray(value)
      return { type: 'prompt-logprobs', first: readNumber(first), tokens: tokens.map(readPromptLogprob) }
    },
  },
  choice: {
    code: 13,
    toValue: (event) => event.choice,
    fromValue: (value) => ({ type: 'choice', choice: readChoice(value) }),
  },
  'choice-end': {
    code: 14,
    toValue: toEndValue,
    fromValue: (value) => ({ type: 'choice-end', ...readEnd(value) }),
  },
} as const satisfies Codecs

type End = ChoiceEnd | GenerationEnd

function toEndValue({ finishReason, stopString, usage }: End): readonly unknown[] {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = usage
  const values = [finishReason, promptTokens, cachedTokens, completionTokens, reasoningTokens]
  return stopString === undefined ? values : [...values, stopString]
}

function readEnd(value: unknown): Omit<End, 'type'> {
  const [finishReason, promptTokens, cachedTokens, completionTokens, reasoningTokens, stopString] =
    readArray(value)
  return {
    finishReason: readOneOf(finishReason, FINISH_REASONS),
    ...(stopString !== undefined && { stopString: readText(stopString) }),
    usage: {
      promptTokens: readNumber(promptTokens),
      cachedTokens: readNumber(cachedTokens),
      completionTokens: readNumber(completionTokens),
      reasoningTokens: readNumber(reasoningTokens),
    },
  }
}

/** A choice is the index of a list. */
function readChoice(value: unknown): number {
  const choice = readNumber(value)
  if (Number.isInteger(choice) && choice >= 0 && choice < MAX_CHOICES) return choice
  throw new FrameError(`there is no choice ${choice}`)
}

const toPair = ({ token, logprob }: Logprob) => [token, logprob]

function readTokenLogprob(value: unknown): TokenLogprob {
  const pairs = readArray(value)
  return { ...readPair(pairs, 0), top: readTop(pairs) }
}

function readPromptLogprob(value: unknown): PromptLogprob {
  const pairs = readArray(value)
  const [token, logprob] = pairs
  return {
    token: readText(token),
    logprob: logprob === null ? null : readNumber(logprob),
    top: readTop(pairs),
  }
}

/** Reads the pairs after the first one, which is the token itself. */
function readTop(pairs: readonly unknown[]): Logprob[] {
  const top: Logprob[] = []
  for (let at = 2; at < pairs.length; at += 2) top.push(readPair(pairs, at))
  return top
}

const readPair = (pairs: readonly unknown[], at: number): Logprob => ({
  token: readText(pairs[at]),
  logprob: readNumber(pairs[at + 1]),
})

/** The types that share their code with another type. */
type Ambiguous = {
  [Type in EventType]: CodeOf<Type> extends CodeOf<Exclude<EventType, Type>> ? Type : never
}[EventType]
type CodeOf<Type extends EventType> = (typeof CODECS)[Type]['code']

/** The decoders, indexed by code. */
const FROM_VALUE = indexByCode(CODECS)

function indexByCode(codecs: [Ambiguous] extends [never] ? Codecs : { readonly ambiguous: Ambiguous }) {
  const decoders: ((value: unknown, worker: string) => GenerationEvent)[] = []
  for (const { code, fromValue } of Object.values(codecs)) decoders[code] = fromValue
  return decoders
}
