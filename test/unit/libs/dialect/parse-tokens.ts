import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { createOutputParser } from '#libs/dialect/parse-output.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { ModelFamily } from '#libs/dialect/family.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel } from '#libs/model-files/model.ts'

const tiny = await createModel(await readModelFolder('models/tiny'))
export const { tokenizer } = tiny
export const END_IDS = tiny.eosIds

export const recordings = z
  .array(z.object({ name: z.string(), text: z.string(), chunks: z.array(z.array(z.int())) }))
  .min(10)
  .parse(readFixture('recorded-outputs.json'))

/** Outputs in all formats. Both recorded releases of vLLM wrote them, forced by a regular expression. */
export const forced = z
  .array(
    z.object({ vllm: z.string(), name: z.string(), text: z.string(), chunks: z.array(z.array(z.int())) }),
  )
  .length(36)
  .parse(readFixture('forced-outputs.json'))

function readFixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../fixtures/dialect/${name}`, import.meta.url), 'utf8'))
}

export function readFamily(name: string): ModelFamily {
  return ModelFamily.parse(JSON.parse(readFileSync(`models/families/${name}.json`, 'utf8')))
}

const THINK = { open: '<think>', close: '</think>' }
const weather = {
  name: 'get_weather',
  description: null,
  parameters: { properties: { city: { type: 'string' } } },
}

type Options = Partial<Parameters<typeof createOutputParser>[0]>

export function createParser(options: Options = {}) {
  return createOutputParser({
    generationId: '0199-generation',
    tokenizer,
    endIds: END_IDS,
    family: { toolCalls: 'hermes', reasoning: THINK, callIds: 'opaque' },
    tools: [weather],
    singleCall: false,
    stop: [],
    startsInReasoning: false,
    earlierCalls: 0,
    ...options,
  })
}

/** Parses the whole output and merges adjacent deltas over all pushes. */
export function parse(chunks: readonly ArrayLike<number>[], options: Options = {}) {
  const parser = createParser(options)
  const events: GenerationEvent[] = []
  for (const chunk of chunks) {
    const { events: added, stopped } = parser.push(chunk)
    events.push(...added)
    if (stopped) break
  }
  events.push(...parser.finish())
  return { events: merge(events), reasoningTokens: parser.reasoningTokens(), toolCalls: parser.toolCalls() }
}

export function merge(events: readonly GenerationEvent[]): GenerationEvent[] {
  const merged: GenerationEvent[] = []
  for (const event of events) {
    const last = merged.at(-1)
    if (last?.type === 'text-delta' && event.type === 'text-delta') {
      merged[merged.length - 1] = { ...last, text: last.text + event.text }
    } else if (last?.type === 'reasoning-delta' && event.type === 'reasoning-delta') {
      merged[merged.length - 1] = { ...last, text: last.text + event.text }
    } else if (last?.type === 'tool-call-delta' && event.type === 'tool-call-delta') {
      merged[merged.length - 1] = { ...last, text: last.text + event.text }
    } else {
      merged.push(event)
    }
  }
  return merged
}

export function recorded(name: string): number[][] {
  const recording = recordings.find((candidate) => candidate.name === name)
  if (recording === undefined) throw new Error(`no recording ${name}`)
  return recording.chunks
}
