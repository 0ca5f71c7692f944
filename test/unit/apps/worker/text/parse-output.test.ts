import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createOutputParser } from '#apps/worker/text/parse-output.ts'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import { loadTokenizer } from '#libs/text/tokenizer.ts'
import { cutAnywhere } from './cuts.ts'

const tokenizer = await loadTokenizer('models/tiny')

const recordings = z
  .array(z.object({ name: z.string(), text: z.string(), chunks: z.array(z.array(z.int())) }))
  .min(10)
  .parse(
    JSON.parse(
      readFileSync(new URL('../../../../fixtures/text/recorded-outputs.json', import.meta.url), 'utf8'),
    ),
  )

type Options = Partial<Parameters<typeof createOutputParser>[0]>

function createParser(options: Options = {}) {
  return createOutputParser({
    generationId: '0199-generation',
    tokenizer,
    family: { tokenizer: 'tiny', toolCalls: 'hermes', reasoning: 'think-tags' },
    tools: true,
    singleCall: false,
    stop: [],
    startsInReasoning: false,
    ...options,
  })
}

/** Runs the whole output and merges the events of all pushes, as a reader of the stream would. */
function parse(chunks: readonly ArrayLike<number>[], options: Options = {}) {
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

function merge(events: readonly GenerationEvent[]): GenerationEvent[] {
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

function recorded(name: string): number[][] {
  const recording = recordings.find((candidate) => candidate.name === name)
  if (recording === undefined) throw new Error(`no recording ${name}`)
  return recording.chunks
}

const call = (index: number, city: string) => [
  { type: 'tool-call-start', index, id: expect.stringMatching(/^call_[0-9a-f]{24}$/), name: 'get_weather' },
  { type: 'tool-call-delta', index, text: `{"city": "${city}"}` },
]

describe('recorded outputs of a real engine', () => {
  it.for([
    ['forced-f1-hermes', call(0, 'Paris')],
    ['forced-f1-hermes-marker-tokens', call(0, 'Paris')],
    ['forced-f1-two-tools', [...call(0, 'Paris'), ...call(1, 'Rome')]],
    ['forced-f1-content-then-tool', [{ type: 'text-delta', text: 'Let me check.' }, ...call(0, 'Paris')]],
    [
      'forced-f1-think-then-tool',
      [{ type: 'reasoning-delta', text: 'I need the weather.' }, ...call(0, 'Paris')],
    ],
    [
      'forced-f1-think',
      [
        { type: 'reasoning-delta', text: 'abc' },
        { type: 'text-delta', text: 'hello' },
      ],
    ],
    [
      'forced-f1-think-marker-tokens',
      [
        { type: 'reasoning-delta', text: 'abc' },
        { type: 'text-delta', text: 'hello' },
      ],
    ],
    ['forced-unicode-emoji', [{ type: 'text-delta', text: 'Größe 東京 😀🚀 café – “q”' }]],
  ] as const)('%s becomes its events', ([name, events]) => {
    expect(parse(recorded(name)).events).toEqual(events)
  })

  it('a call that ends the thinking is a call, as the engine held it to one', () => {
    const { events } = parse(recorded('alt-reasoning-parser-tool-call-ends-thinking'), {
      startsInReasoning: true,
    })
    expect(events).toEqual([
      { type: 'tool-call-start', index: 0, id: expect.any(String), name: 'clock' },
      { type: 'tool-call-delta', index: 0, text: '{}' },
    ])
  })

  it.for(recordings)('$name is plain text to a family without reasoning and tools', ({ chunks, text }) => {
    const family = { tokenizer: 'tiny', toolCalls: 'none', reasoning: 'none' } as const
    const plain = text.replaceAll(/<\|(im_end|im_start|endoftext)\|>/g, '')
    expect(parse(chunks, { family }).events).toEqual([{ type: 'text-delta', text: plain }])
  })

  it.for(recordings)('$name gives the same events however the engine chunks it', ({ chunks }) => {
    const ids = chunks.flat()
    const whole = parse([ids])
    for (let at = 0; at <= ids.length; at++) {
      expect(parse([ids.slice(0, at), ids.slice(at)])).toEqual(whole)
    }
    expect(parse(ids.map((token) => [token]))).toEqual(whole)
  })
})

it('random ids give the same events however they are chunked, stop strings and all', () => {
  const markers = fc.constantFrom(2000, 2003, 2004, 2005, 2006, 198, 220, 2040)
  const ids = fc.array(fc.oneof(fc.nat({ max: 2008 }), markers), { maxLength: 40 })
  fc.assert(
    fc.property(
      ids.chain((list) => fc.tuple(fc.constant(list), cutAnywhere(list))),
      fc.array(fc.constantFrom('e', '\n\n', ' the', '>', '\uFFFD'), { maxLength: 2 }),
      fc.boolean(),
      ([list, chunks], stop, startsInReasoning) => {
        const options = { stop, startsInReasoning }
        expect(parse(chunks, options)).toEqual(parse([list], options))
      },
    ),
    { numRuns: 3000 },
  )
})

describe('stop strings', () => {
  it('end the text, and the rest of the chunk is not read', async () => {
    const parser = createParser({ stop: [' wor'] })
    const { events, stopped } = parser.push(await tokenizer.encode('Hello world, hello'))
    expect(events).toEqual([{ type: 'text-delta', text: 'Hello' }])
    expect(stopped).toBe(true)
    expect(parser.push(await tokenizer.encode('more'))).toEqual({ events: [], stopped: true })
    expect(parser.finish()).toEqual([])
  })

  it('hold back what may begin one, and give it back when the output ends', async () => {
    const parser = createParser({ stop: ['lo!'], tools: false })
    expect(parser.push(await tokenizer.encode('Hello')).events).toEqual([{ type: 'text-delta', text: 'Hel' }])
    expect(parser.finish()).toEqual([{ type: 'text-delta', text: 'lo' }])
  })
})

it('counts the tokens of the thinking without its tags', async () => {
  const ids = await tokenizer.encode('<think>one two</think>three')
  const inside = await tokenizer.encode('one two')
  expect(parse([ids]).reasoningTokens).toBe(inside.length)
  const closed = await tokenizer.encode('one two</think>three')
  expect(parse([closed], { startsInReasoning: true }).reasoningTokens).toBe(inside.length)
})

it('takes tool calls for text when the request has no tools', () => {
  const { events, toolCalls } = parse(recorded('forced-f1-hermes'), { tools: false })
  expect(events).toEqual([{ type: 'text-delta', text: expect.stringContaining('<tool_call>') }])
  expect(toolCalls).toBe(0)
})

it('is over with the first call where only one is allowed, in the middle of a chunk and of a token', async () => {
  const parser = createParser({ singleCall: true })
  const two = recorded('forced-f1-two-tools').flat()
  const { events, stopped } = parser.push(two)
  expect(stopped).toBe(true)
  expect([...events, ...parser.finish()]).toEqual(call(0, 'Paris'))
  expect(parser.push(two)).toEqual({ events: [], stopped: true })

  // Spelled in pieces, the close tag shares its last token with what follows.
  const shared = 443
  expect(tokenizer.decode([shared])).toMatch(/^>./)
  const after = createParser({ singleCall: true })
  expect(
    after.push(await tokenizer.encode('<tool_call>{"name": "f", "arguments": {}}</tool_call')).stopped,
  ).toBe(false)
  expect(after.push([shared])).toEqual({ events: [], stopped: true })
  expect(after.finish()).toEqual([])
})

it('gives a call the same id in every run, and another one in another generation', () => {
  const ids = (generationId: string) =>
    parse(recorded('forced-f1-two-tools'), { generationId }).events.flatMap((event) =>
      event.type === 'tool-call-start' ? [event.id] : [],
    )
  expect(ids('a')).toEqual(ids('a'))
  expect(new Set([...ids('a'), ...ids('b')]).size).toBe(4)
})

it('sees markers that a tokenizer flags special', () => {
  const special = { ...tokenizer, isSpecial: (token: number) => token >= 2000 && token <= 2008 }
  expect(parse(recorded('forced-f1-think-then-tool'), { tokenizer: special }).events).toEqual(
    parse(recorded('forced-f1-think-then-tool')).events,
  )
})

it('leaves end ids out even where they are not flagged special', async () => {
  const plain = { ...tokenizer, isSpecial: () => false }
  const ids = [...(await tokenizer.encode('Hi')), 2002]
  expect(parse([ids], { tokenizer: plain }).events).toEqual([{ type: 'text-delta', text: 'Hi' }])
})
