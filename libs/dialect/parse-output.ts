import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import type { ModelFamily } from './family.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { createDecodeStream } from './decode-stream.ts'
import { createStopMatcher } from './match-stop.ts'
import { createHarmony, HARMONY_MARKERS } from './formats/harmony.ts'
import { createAnswerTags } from './reasoning/answer-tags.ts'
import { createThinkTags } from './reasoning/think-tags.ts'
import { toCallId } from './syntax/call-id.ts'
import { beginningsOf, markersOf, TOOL_FORMATS } from './formats.ts'
import { createTextWithCalls } from './syntax/text-with-calls.ts'

export type OutputParser = {
  /**
   * What these ids add. `stopped`: a stop string was found or the only call is over, what comes after it was not
   * read, and the engine need not go on; `finish` is still to be called.
   */
  readonly push: (ids: ArrayLike<number>) => { readonly events: GenerationEvent[]; readonly stopped: boolean }
  /** What was held back. Call it once, at the end of the output. */
  readonly finish: () => GenerationEvent[]
  /** Tokens read so far that lie inside the thinking, its tags not counted. */
  readonly reasoningTokens: () => number
  /** Tool calls that have started. */
  readonly toolCalls: () => number
}

/**
 * A generation's output, from token ids to events: end ids and special tokens are left out, bytes become text,
 * stop strings cut it, then reasoning and tool calls are told from the answer. Every id takes the whole way by
 * itself, so the events together cannot depend on how the engine cuts its output into chunks, and a replay
 * after the loss of a worker repeats them, tool-call ids included. Deltas of one kind are merged within a push.
 */
export function createOutputParser(options: {
  readonly generationId: string
  readonly tokenizer: Tokenizer
  /** They end the output and are no part of it. */
  readonly endIds: ReadonlySet<number>
  readonly family: ParsedFamily
  /** None: what looks like a tool call is text. Formats without types follow what these declare. */
  readonly tools: readonly ToolDefinition[]
  /** The output is over with its first tool call. */
  readonly singleCall: boolean
  readonly stop: readonly string[]
  readonly startsInReasoning: boolean
  /** Calls of the conversation so far: some families count theirs across turns. */
  readonly earlierCalls: number
}): OutputParser {
  const { tokenizer, endIds, family } = options
  const collector = createCollector((call) =>
    toCallId(family.callIds, {
      generationId: options.generationId,
      name: call.name,
      index: call.index,
      earlierCalls: options.earlierCalls,
    }),
  )
  const stages = createStages(options, collector)
  const { consume, isReasoning, isOver, markers } = stages
  const markerIds = toMarkerIds(tokenizer, markers)
  const skips = (id: number) => (tokenizer.isSpecial(id) || endIds.has(id)) && !markerIds.has(id)
  const decoder = createDecodeStream(tokenizer, skips)
  const stops = createStopMatcher(options.stop)
  let reasoningTokens = 0

  const isStopped = () => stops.matched() !== null || isOver?.() === true

  function read(id: number): void {
    const wasReasoning = isReasoning !== null && isReasoning()
    const text = stops.push(decoder.push(id))
    if (text !== '') consume(text)
    if (wasReasoning && isReasoning() && !skips(id)) reasoningTokens += 1
  }

  return {
    push(ids) {
      for (let i = 0; i < ids.length && !isStopped(); i++) {
        const id = ids[i]
        if (id !== undefined) read(id)
      }
      return { events: collector.take(), stopped: isStopped() }
    },
    finish() {
      const text = stops.push(decoder.flush()) + stops.flush()
      if (text !== '') consume(text)
      stages.finish()
      return collector.take()
    },
    reasoningTokens: () => reasoningTokens,
    toolCalls: collector.toolCalls,
  }
}

type ParsedFamily = Pick<ModelFamily, 'reasoning' | 'toolCalls' | 'callIds'>

/** What tells reasoning and calls from the answer. */
type Stages = {
  readonly consume: (text: string) => void
  readonly finish: () => void
  /** null: nothing is ever thought. */
  readonly isReasoning: (() => boolean) | null
  /** Whether the only call is over; null: there are no calls. */
  readonly isOver: (() => boolean) | null
  /** The texts that have a meaning. */
  readonly markers: readonly string[]
}

function createStages(options: Parameters<typeof createOutputParser>[0], collector: Collector): Stages {
  const { family, tools } = options
  const sink = {
    onText: collector.text,
    onReasoning: collector.reasoning,
    onStart: collector.toolCallStart,
    onArguments: collector.toolCallArguments,
  }
  if (family.toolCalls === 'harmony') {
    const harmony = createHarmony(sink, { tools: tools.length > 0, single: options.singleCall })
    return { ...harmony, consume: harmony.push, markers: HARMONY_MARKERS }
  }
  const format = tools.length === 0 || family.toolCalls === 'none' ? null : TOOL_FORMATS[family.toolCalls]
  const calls =
    format === null ? null : createTextWithCalls(sink, { format, tools, single: options.singleCall })
  const onText = calls?.push ?? collector.text
  const tags = typeof family.reasoning === 'object' ? family.reasoning : null
  const endsAt = format === null ? [] : beginningsOf(format)
  const answer = tags?.answer === undefined ? null : createAnswerTags({ tags: tags.answer, endsAt, onText })
  const thinking =
    tags === null
      ? null
      : createThinkTags({
          tags,
          startsInReasoning: options.startsInReasoning,
          // Some models call a tool out of their thinking; nothing of that call is thought.
          endsAt,
          onReasoning: collector.reasoning,
          onText: answer?.push ?? onText,
        })
  return {
    consume: thinking?.push ?? onText,
    finish() {
      thinking?.finish()
      answer?.finish()
      calls?.finish()
    },
    isReasoning: thinking?.isReasoning ?? null,
    isOver: calls?.isOver ?? null,
    markers: [
      ...(tags === null ? [] : [tags.open, tags.close]),
      ...(format === null ? [] : markersOf(format)),
    ],
  }
}

/** Some models flag their markers special, or a part of one; a parser needs to see them all the same. */
function toMarkerIds(tokenizer: Tokenizer, markers: readonly string[]): ReadonlySet<number> {
  const parts = tokenizer.addedTokens.filter(({ text }) => markers.some((marker) => marker.includes(text)))
  return new Set(parts.map(({ id }) => id))
}

/** Gathers the pieces of one push; neighbours of one kind become one event. */
function createCollector(toId: (call: { readonly name: string; readonly index: number }) => string) {
  let events: GenerationEvent[] = []
  let kind: 'reasoning-delta' | 'text-delta' | 'tool-call-delta' | null = null
  let pending = ''
  let calls = 0

  function flush(): void {
    if (kind === null) return
    events.push(
      kind === 'tool-call-delta'
        ? { type: kind, index: calls - 1, text: pending }
        : { type: kind, text: pending },
    )
    kind = null
  }

  function append(next: NonNullable<typeof kind>, text: string): void {
    if (kind === next) {
      pending += text
    } else {
      flush()
      kind = next
      pending = text
    }
  }

  return {
    text: (text: string) => append('text-delta', text),
    reasoning: (text: string) => append('reasoning-delta', text),
    toolCallArguments: (text: string) => append('tool-call-delta', text),
    toolCallStart: (name: string) => {
      flush()
      events.push({ type: 'tool-call-start', index: calls, id: toId({ name, index: calls }), name })
      calls += 1
    },
    toolCalls: () => calls,
    take(): GenerationEvent[] {
      flush()
      const taken = events
      events = []
      return taken
    },
  }
}

type Collector = ReturnType<typeof createCollector>
