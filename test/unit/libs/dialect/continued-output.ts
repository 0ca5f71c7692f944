import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { replayOutput } from '#libs/dialect/replay-output.ts'
import { createParser, END_IDS, merge } from './parse-tokens.ts'

type Options = Parameters<typeof createParser>[0]

/** What a gateway receives at once: all ids since the last group ride on the first event of this one. */
type Group = { readonly ids: readonly number[]; readonly events: readonly GenerationEvent[] }

type Run = {
  readonly groups: readonly Group[]
  /** The events that are sent together with the end. */
  readonly rest: readonly GenerationEvent[]
  /** `completion`: null where the parser may end it within a chunk, because chunks end elsewhere after a cut. */
  readonly counts: {
    readonly completion: number | null
    readonly reasoning: number
    readonly calls: number
  }
}

/** How many ids each chunk of an engine has, in turn. */
export type Chunking = readonly number[]

/** Written by an engine that goes on behind the end of an output. */
const BEHIND_THE_END = 264

/**
 * Generates these ids on one worker up to every group that its gateway can have received last, then on another worker.
 * Returns the places, counted in ids, at which events or counts differ from those of an undisturbed run.
 */
export function brokenCuts(
  ids: readonly number[],
  { options = {}, chunking, second }: { options?: Options; chunking: Chunking; second: Chunking },
): number[] {
  const undisturbed = generate(ids, { options, chunking })
  const whole = merge([...undisturbed.groups.flatMap(({ events }) => events), ...undisturbed.rest])
  const broken: number[] = []
  for (let cut = 0; cut <= undisturbed.groups.length; cut++) {
    const received = undisturbed.groups.slice(0, cut)
    const after = received.flatMap((group) => group.ids)
    const continued = generate(ids, { options, chunking: second, after })
    const events = [...received, ...continued.groups].flatMap((group) => group.events)
    const isSame = JSON.stringify(merge([...events, ...continued.rest])) === JSON.stringify(whole)
    const isCounted = JSON.stringify(continued.counts) === JSON.stringify(undisturbed.counts)
    if (!isSame || !isCounted) broken.push(after.length)
  }
  return broken
}

/** A worker's run, from the beginning or after the ids that another one had sent. */
function generate(
  ids: readonly number[],
  { options, chunking, after = [] }: { options: Options; chunking: Chunking; after?: readonly number[] },
): Run {
  const parser = createParser(options)
  const groups: Group[] = []
  const isOver = replayOutput(parser, { ids: after, endIds: [...END_IDS] })
  // Without an end token it was cut by its limit, which the worker knows.
  const goesOn = END_IDS.has(ids.at(-1) ?? -1) ? [BEHIND_THE_END] : []
  const missing = ids.slice(after.length)
  let pending: number[] = []
  let completion: number = after.length
  let left = isOver ? [] : missing.length > 0 ? missing : goesOn
  for (let i = 0; left.length > 0; i++) {
    const chunk = left.slice(0, chunking[i % chunking.length])
    left = left.slice(chunk.length)
    completion += chunk.length
    pending.push(...chunk)
    const { events, stopped } = parser.push(chunk)
    if (events.length > 0) {
      groups.push({ ids: pending, events })
      pending = []
    }
    if (stopped) break
  }
  const rest = parser.finish()
  const isExact = (options?.stop ?? []).length === 0 && options?.singleCall !== true
  return {
    groups,
    rest,
    counts: {
      completion: isExact ? completion : null,
      reasoning: parser.reasoningTokens(),
      calls: parser.toolCalls(),
    },
  }
}
