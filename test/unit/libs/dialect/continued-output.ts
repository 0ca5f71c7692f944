import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { replayOutput } from '#libs/dialect/replay-output.ts'
import { createParser, END_IDS, merge } from './parse-tokens.ts'

type Options = Parameters<typeof createParser>[0]

/** The events that a gateway receives at once. The first event carries all ids since the previous group. */
type Group = { readonly ids: readonly number[]; readonly events: readonly GenerationEvent[] }

type Run = {
  readonly groups: readonly Group[]
  /** The events that are sent together with the end. */
  readonly rest: readonly GenerationEvent[]
  /** `completion` is null if the parser may end within a chunk, because chunks have other boundaries after a cut. */
  readonly counts: {
    readonly completion: number | null
    readonly reasoning: number
    readonly calls: number
  }
}

/** The number of ids in each chunk of an engine, in order. */
export type Chunking = readonly number[]

/** An id that an engine writes if it continues after the end of an output. */
const BEHIND_THE_END = 264

/**
 * Lets one worker generate these ids up to a group, and another worker continue; repeats this for every group that the
 * gateway can have received last. Returns the cuts, counted in ids, after which events or counts differ from an
 * undisturbed run.
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

/** Runs a worker from the beginning, or after the ids that another worker has sent. */
function generate(
  ids: readonly number[],
  { options, chunking, after = [] }: { options: Options; chunking: Chunking; after?: readonly number[] },
): Run {
  const parser = createParser(options)
  const groups: Group[] = []
  const isOver = replayOutput(parser, { ids: after, endIds: [...END_IDS] })
  // An output without an end token was cut by its token limit, which the worker knows.
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
