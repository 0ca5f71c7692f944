import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import type { ModelFamily } from './family.ts'
import type { Tokenizer } from '#libs/tokenizer/tokenizer.ts'
import { createDecodeStream } from './decode-stream.ts'
import { createStopMatcher, type StopMatcher } from './match-stop.ts'
import { createAnswerTags, type AnswerTags } from './reasoning/answer-tags.ts'
import { createThinkTags, type ReasoningParser } from './reasoning/think-tags.ts'
import { toCallId } from './syntax/call-id.ts'
import type { HarmonySink } from './syntax/harmony-messages.ts'
import type { ToolCallSink } from './syntax/tool-call-parser.ts'
import { TOOL_CALL_FORMATS } from './formats.ts'
import { createTextWithCalls, markersOf } from './syntax/text-with-calls.ts'

export type OutputParser = {
  /**
   * Returns the events that these ids add. `stopped` is true if a stop string was found or the only allowed call is
   * over. Then the remaining ids were not read, and the engine can be stopped; `finish` must still be called.
   */
  readonly push: (ids: ArrayLike<number>) => { readonly events: GenerationEvent[]; readonly stopped: boolean }
  /**
   * Returns the events of the buffered rest. Called once, at the end of the output. `isCutOff`: the output limit ended it,
   * so markup that is not whole is dropped.
   */
  readonly finish: (isCutOff?: boolean) => GenerationEvent[]
  /**
   * Returns whether a stop string or the end of the only allowed call has ended the output. After `finish`, a stop
   * string in the buffered rest counts too.
   */
  readonly isStopped: () => boolean
  /** Returns the stop string that ended the answer's text, or null. */
  readonly stopString: () => string | null
  /** After `finish`: returns whether the output ended in the middle of a call, whose arguments are then not JSON. */
  readonly isCut: () => boolean
  /** The number of reasoning tokens read so far, without the tags. */
  readonly reasoningTokens: () => number
  /** The number of tool calls that have started. */
  readonly toolCalls: () => number
}

/**
 * Turns a generation's output from token ids into events. It drops end ids and special tokens, decodes bytes to text,
 * separates tool calls, reasoning and answer, and stops at stop strings in the answer's text. Each id passes all steps
 * by itself. So the events do not depend on how the engine cuts its output into chunks, and a replay after the loss of
 * a worker repeats the same events, tool-call ids included. Deltas of one kind are merged within a push.
 */
export function createOutputParser(options: {
  readonly generationId: string
  readonly tokenizer: Tokenizer
  /** The ids that end the output and are not part of it. */
  readonly endIds: ReadonlySet<number>
  readonly family: ParsedFamily
  /**
   * Without tools, tool calls are text. Formats that write values without quotes take the values' types from the tools.
   */
  readonly tools: readonly ToolDefinition[]
  /** True if the output ends after its first tool call. */
  readonly singleCall: boolean
  readonly stop: readonly string[]
  /** No stop string matches before this many tokens. */
  readonly minTokens?: number
  readonly startsInReasoning: boolean
  /** The number of calls in the conversation so far: some families number calls across turns. */
  readonly earlierCalls: number
}): OutputParser {
  const { tokenizer, endIds, family, minTokens = 0 } = options
  const collector = createCollector((call) =>
    toCallId(family.callIds, {
      generationId: options.generationId,
      name: call.name,
      index: call.index,
      earlierCalls: options.earlierCalls,
    }),
  )
  const stops = createStopMatcher(options.stop)
  let tokens = 0
  const sink = withStops(collector, stops, () => tokens > minTokens)
  const stages = createStages(options, sink)
  const { consume, isReasoning, isOver, markers } = stages
  const markerIds = toMarkerIds(tokenizer, markers)
  const skips = (id: number) => (tokenizer.isSpecial(id) || endIds.has(id)) && !markerIds.has(id)
  const decoder = createDecodeStream(tokenizer, skips)
  let reasoningTokens = 0
  let isCut = false

  const isStopped = () => stops.matched() !== null || isOver?.() === true

  function read(id: number): void {
    tokens += 1
    const wasReasoning = isReasoning !== null && isReasoning()
    const text = decoder.push(id)
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
    finish(isCutOff = false) {
      const text = decoder.flush()
      if (text !== '') consume(text)
      const isOpen = stages.isOpen?.() === true
      stages.finish(isCutOff)
      collector.text(stops.flush())
      isCut = isOpen && !collector.isCallWhole()
      return collector.take()
    },
    isStopped,
    stopString: stops.matched,
    isCut: () => isCut,
    reasoningTokens: () => reasoningTokens,
    toolCalls: collector.toolCalls,
  }
}

type ParsedFamily = Pick<ModelFamily, 'reasoning' | 'toolCalls' | 'callIds'>

/** The parser of reasoning and calls. */
type Stages = {
  readonly consume: (text: string) => void
  readonly finish: (isCut: boolean) => void
  /** null: the family has no reasoning. */
  readonly isReasoning: (() => boolean) | null
  /** Returns whether the only call is over; null: there are no calls. */
  readonly isOver: (() => boolean) | null
  /** Returns whether a call has begun and is not over; null: there are no calls. */
  readonly isOpen: (() => boolean) | null
  /** The texts that have a meaning to the parser. */
  readonly markers: readonly string[]
}

function createStages(options: Parameters<typeof createOutputParser>[0], sink: HarmonySink): Stages {
  const { family, tools } = options
  const format = family.toolCalls === 'none' ? null : TOOL_CALL_FORMATS[family.toolCalls].read
  if (format?.type === 'messages') {
    const messages = format.open(sink, { tools: tools.length > 0, single: options.singleCall })
    return { ...messages, consume: messages.push, markers: format.markers }
  }
  const syntax = tools.length === 0 ? null : format
  const tags = typeof family.reasoning === 'object' ? family.reasoning : null
  const single = options.singleCall
  // Unmarked calls stand at the beginning of the answer, so the reasoning is split off first. Marked calls are found
  // before the reasoning is split off, because models make calls within their reasoning as well. If the reasoning only
  // mentions the markup of calls, this markup stays reasoning.
  const inner = syntax?.list?.unmarked === true ? createTextWithCalls(sink, { syntax, tools, single }) : null
  const onAnswer = inner?.push ?? sink.onText
  const answer = tags?.answer === undefined ? null : createAnswerTags({ tags: tags.answer, onText: onAnswer })
  const thinking =
    tags === null
      ? null
      : createThinkTags({
          tags,
          startsInReasoning: options.startsInReasoning,
          onReasoning: sink.onReasoning,
          onText: answer?.push ?? onAnswer,
        })
  const onText = thinking?.push ?? onAnswer
  const outer =
    syntax === null || inner !== null
      ? null
      : createTextWithCalls(behindTags(sink, { onText, thinking, answer }), {
          syntax,
          tools,
          single,
          boundaries: tags === null ? [] : [tags.open, tags.close, ...Object.values(tags.answer ?? {})],
        })
  const calls = outer ?? inner
  const isReasoning = thinking === null ? null : () => thinking.isReasoning() && calls?.isOpen() !== true
  return {
    consume: outer?.push ?? onText,
    finish(isCut) {
      outer?.finish(isCut)
      thinking?.finish(isCut)
      answer?.finish(isCut)
      inner?.finish(isCut)
    },
    isReasoning,
    isOver: calls?.isOver ?? null,
    isOpen: calls?.isOpen ?? null,
    markers: [
      ...(tags === null ? [] : [tags.open, tags.close]),
      ...(syntax === null ? [] : markersOf(syntax)),
    ],
  }
}

/**
 * Passes the text outside of calls to the parsers of tags. At the beginning of a call it interrupts these parsers,
 * because a tag that begins before a call cannot continue after the call.
 */
function behindTags(
  sink: HarmonySink,
  tags: {
    readonly onText: (text: string) => void
    readonly thinking: ReasoningParser | null
    readonly answer: AnswerTags | null
  },
): ToolCallSink {
  return {
    onText: tags.onText,
    onStart(name) {
      tags.thinking?.interrupt()
      tags.answer?.interrupt()
      sink.onStart(name)
    },
    onArguments: sink.onArguments,
  }
}

/**
 * Passes the parts of an output to the collector, and the answer's text only up to a stop string. Text that may begin a
 * stop string is buffered. The buffered text is passed once the text that follows shows that it begins no stop string,
 * or before a call or reasoning is passed. After a stop string nothing more is passed.
 */
function withStops(collector: Collector, stops: StopMatcher, mayStop: () => boolean): HarmonySink {
  const behindText = <Arguments extends readonly unknown[]>(pass: (...args: Arguments) => void) =>
    function (...args: Arguments) {
      if (stops.matched() !== null) return
      collector.text(stops.flush())
      pass(...args)
    }
  return {
    onText: (text) => collector.text(stops.push(text, mayStop())),
    onReasoning: behindText(collector.reasoning),
    onStart: behindText(collector.toolCallStart),
    onArguments: behindText(collector.toolCallArguments),
  }
}

/** Returns the ids of markers, or of parts of them. The parser needs them even if the tokenizer flags them special. */
function toMarkerIds(tokenizer: Tokenizer, markers: readonly string[]): ReadonlySet<number> {
  const parts = tokenizer.addedTokens.filter(({ text }) => markers.some((marker) => marker.includes(text)))
  return new Set(parts.map(({ id }) => id))
}

/** Collects the events of one push; adjacent deltas of one kind become one event. */
function createCollector(toId: (call: { readonly name: string; readonly index: number }) => string) {
  let events: GenerationEvent[] = []
  let kind: 'reasoning-delta' | 'text-delta' | 'tool-call-delta' | null = null
  let pending = ''
  let calls = 0
  /** The arguments of the last call. */
  let args = ''

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
    if (text === '') return
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
    toolCallArguments(text: string) {
      args += text
      append('tool-call-delta', text)
    },
    toolCallStart: (name: string) => {
      flush()
      args = ''
      events.push({ type: 'tool-call-start', index: calls, id: toId({ name, index: calls }), name })
      calls += 1
    },
    toolCalls: () => calls,
    /** Returns whether the last call's arguments are JSON. */
    isCallWhole: () => isJson(args),
    take(): GenerationEvent[] {
      flush()
      const taken = events
      events = []
      return taken
    },
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

type Collector = ReturnType<typeof createCollector>
