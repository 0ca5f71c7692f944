import { hash } from 'node:crypto'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { ModelFamily } from '#libs/contracts/model-family.ts'
import type { Tokenizer } from '#libs/text/tokenizer.ts'
import { createDecodeStream } from './decode-stream.ts'
import { createStopMatcher } from './match-stop.ts'
import { createThinkTags } from './reasoning/think-tags.ts'
import { createHermes } from './tool-calls/hermes.ts'

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
  readonly family: ModelFamily
  /** False: what looks like a tool call is text. */
  readonly tools: boolean
  /** The output is over with its first tool call. */
  readonly singleCall: boolean
  readonly stop: readonly string[]
  readonly startsInReasoning: boolean
}): OutputParser {
  const { tokenizer, family, tools } = options
  const collector = createCollector(options.generationId)
  const hermes =
    tools && family.toolCalls === 'hermes'
      ? createHermes(
          {
            onText: collector.text,
            onStart: collector.toolCallStart,
            onArguments: collector.toolCallArguments,
          },
          { single: options.singleCall },
        )
      : null
  const thinkTags =
    family.reasoning === 'think-tags'
      ? createThinkTags({
          startsInReasoning: options.startsInReasoning,
          // Some models call a tool out of their thinking; nothing of that call is thought.
          endsAt: hermes === null ? null : '<tool_call>',
          onReasoning: collector.reasoning,
          onText: hermes === null ? collector.text : hermes.push,
        })
      : null
  const consume = thinkTags?.push ?? hermes?.push ?? collector.text
  const markers = markerIds(tokenizer, [
    ...(thinkTags === null ? [] : ['<think>', '</think>']),
    ...(hermes === null ? [] : ['<tool_call>', '</tool_call>']),
  ])
  const skips = (id: number) => (tokenizer.isSpecial(id) && !markers.has(id)) || tokenizer.eosIds.has(id)
  const decoder = createDecodeStream(tokenizer, skips)
  const stops = createStopMatcher(options.stop)
  let reasoningTokens = 0

  const isStopped = () => stops.matched() !== null || hermes?.isOver() === true

  function read(id: number): void {
    const wasReasoning = thinkTags !== null && thinkTags.isReasoning()
    const text = stops.push(decoder.push(id))
    if (text !== '') consume(text)
    if (wasReasoning && thinkTags.isReasoning() && !skips(id)) reasoningTokens += 1
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
      thinkTags?.finish()
      hermes?.finish()
      return collector.take()
    },
    reasoningTokens: () => reasoningTokens,
    toolCalls: collector.toolCalls,
  }
}

/** Some models flag their markers special; a parser needs to see them all the same. */
function markerIds(tokenizer: Tokenizer, markers: readonly string[]): ReadonlySet<number> {
  return new Set(markers.map((marker) => tokenizer.tokenId(marker)).filter((id) => id !== null))
}

/** Gathers the pieces of one push; neighbours of one kind become one event. */
function createCollector(generationId: string) {
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
      events.push({ type: 'tool-call-start', index: calls, id: toolCallId(generationId, calls), name })
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

/** The same call of the same generation always has the same id, whichever worker reads it. */
function toolCallId(generationId: string, index: number): string {
  return `call_${hash('sha256', `${generationId}:${index}`, 'hex').slice(0, 24)}`
}
