import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '#test/support/long.ts'
import { cutAnywhere } from './cuts.ts'
import { createParser, forced, parse, readFamily, recorded, recordings, tokenizer } from './parse-tokens.ts'
import { FIRST_MARKER, withTexts } from './with-texts.ts'

const call = (index: number, city: string, id: unknown = expect.stringMatching(/^call_[0-9a-f]{24}$/)) => [
  { type: 'tool-call-start', index, id, name: 'get_weather' },
  { type: 'tool-call-delta', index, text: `{"city": "${city}"}` },
]

const ACTION =
  '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}\n]<|END_ACTION|>'

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
    const family = { toolCalls: 'none', reasoning: 'none', callIds: 'opaque' } as const
    const plain = text.replaceAll(/<\|(im_end|im_start|endoftext)\|>/g, '')
    expect(parse(chunks, { family }).events).toEqual([{ type: 'text-delta', text: plain }])
  })

  it.for(recordings)('$name becomes the same events in any chunks', ({ chunks }) => {
    const ids = chunks.flat()
    const whole = parse([ids])
    for (let at = 0; at <= ids.length; at++) {
      expect(parse([ids.slice(0, at), ids.slice(at)])).toEqual(whole)
    }
    expect(parse(ids.map((token) => [token]))).toEqual(whole)
  })
})

describe('every format, as recorded from a real engine with a forced output', () => {
  const said = (text: string) => ({ type: 'text-delta', text })
  const thought = (text: string) => ({ type: 'reasoning-delta', text })
  const EXPECTED: Record<string, readonly [family: string, events: readonly object[]]> = {
    'forced-f1-hermes': ['hermes', call(0, 'Paris')],
    'forced-f1-hermes-marker-tokens': ['qwen2.5', call(0, 'Paris')],
    'forced-f1-two-tools': ['granite4', [...call(0, 'Paris'), ...call(1, 'Rome')]],
    'forced-f1-content-then-tool': ['qwen3', [said('Let me check.'), ...call(0, 'Paris')]],
    'forced-f1-think': ['qwen3', [thought('abc'), said('hello')]],
    'forced-f1-think-marker-tokens': ['qwen3', [thought('abc'), said('hello')]],
    'forced-f1-think-then-tool': ['qwen3', [thought('I need the weather.'), ...call(0, 'Paris')]],
    'forced-f2-qwen3-coder': ['qwen3-coder', call(0, 'Paris')],
    'forced-f3-deepseek-v3': ['deepseek-v3', call(0, 'Paris')],
    'forced-f3-deepseek-v31': ['deepseek-v3.1', call(0, 'Paris')],
    'forced-f4-minimax-m2': ['minimax-m2', call(0, 'Paris')],
    'forced-f5-kimi-k2': ['kimi-k2', call(0, 'Paris', 'functions.get_weather:0')],
    'forced-f6-glm45': ['glm-4.5', call(0, 'Paris')],
    'forced-f7-harmony': ['gpt-oss', [thought('Need weather.'), ...call(0, 'Paris')]],
    'forced-f8-mistral': ['mistral', call(0, 'Paris', expect.stringMatching(/^[0-9a-z]{9}$/))],
    'forced-f8-mistral-args': ['magistral', call(0, 'Paris', expect.stringMatching(/^[0-9a-z]{9}$/))],
    'forced-f9-bare-json': ['llama3', call(0, 'Paris')],
    'forced-unicode-emoji': ['phi4', [said('Größe 東京 😀🚀 café – “q”')]],
  }

  it.for(forced)('vLLM $vllm, $name: in one chunk, token by token and in every split', (recording) => {
    const [family, events] = EXPECTED[recording.name] ?? ['', []]
    const options = { family: readFamily(family) }
    const ids = recording.chunks.flat()
    expect(parse(recording.chunks, options).events).toEqual(events)
    for (let at = 0; at <= ids.length; at++) {
      expect(parse([ids.slice(0, at), ids.slice(at)], options).events).toEqual(events)
    }
  })

  it.for(forced)('vLLM $vllm, $name: markers as special tokens of their own', async (recording) => {
    const [family, events] = EXPECTED[recording.name] ?? ['', []]
    const [marked, ids] = await withMarkerTokens(recording.text)
    const options = { family: readFamily(family), tokenizer: marked }
    expect(parse([ids], options).events).toEqual(events)
    expect(
      parse(
        ids.map((id) => [id]),
        options,
      ).events,
    ).toEqual(events)
  })
})

/** Returns a tokenizer in which every marker of the text is one special token, and the ids of the text with it. */
async function withMarkerTokens(text: string): Promise<[typeof tokenizer, number[]]> {
  const marker = /(<[|｜][^<>]*[|｜]>|\[[A-Z_]+\]|<\/?\w*:?tool_call>|<\/?think>)/
  const texts: string[] = []
  const ids: number[] = []
  for (const piece of text.split(marker)) {
    if (!marker.test(piece) || (await tokenizer.encode(piece))[0] === 2002) {
      ids.push(...(await tokenizer.encode(piece)))
    } else {
      if (!texts.includes(piece)) texts.push(piece)
      ids.push(FIRST_MARKER + texts.indexOf(piece))
    }
  }
  const textOf = (id: number) => texts[id - FIRST_MARKER]
  const marked = {
    ...tokenizer,
    openTextStream: () => withTexts(tokenizer, textOf),
    isSpecial: (id: number) => textOf(id) !== undefined || tokenizer.isSpecial(id),
    addedTokens: texts.map((added, i) => ({ id: FIRST_MARKER + i, text: added, special: true })),
  }
  return [marked, ids]
}

it.for<[string, string, string]>([
  ['granite3.2', 'Here is my thought process:\n\nHm.\n\nHere is my response:\n\nLook: ', ''],
  ['granite3.3', '<think>Hm.</think><response>Look: ', '</response>'],
  ['granite3.3', '<think>Hm.</think>\n<response>Look:</response>\n', ''],
])('%s: thinking, and an answer with a call in or behind it: %j', async ([family, before, after]) => {
  const written = `${before}<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}]`
  const options = { family: readFamily(family) }
  const expected = [
    { type: 'reasoning-delta', text: 'Hm.' },
    { type: 'text-delta', text: 'Look:' },
    ...call(0, 'Paris'),
  ]
  const ids = await tokenizer.encode(written + after)
  for (let at = 0; at <= ids.length; at++) {
    expect(parse([ids.slice(0, at), ids.slice(at)], options).events).toEqual(expected)
  }
})

it('an answer that ends within its close tag is complete', async () => {
  const ids = await tokenizer.encode('<think>Hm.</think><response>Hello</resp')
  expect(parse([ids], { family: readFamily('granite3.3') }).events).toEqual([
    { type: 'reasoning-delta', text: 'Hm.' },
    { type: 'text-delta', text: 'Hello</resp' },
  ])
})

it.for<[string, string, object[]]>([
  ['command3', '<|START_RESPONSE|>Hello<|END_RESPONSE|>', [{ type: 'text-delta', text: 'Hello' }]],
  ['command4', '<|START_TEXT|>Hello<|END_TEXT|>', [{ type: 'text-delta', text: 'Hello' }]],
  ['command3', ACTION, call(0, 'Paris')],
  ['command4', ACTION, call(0, 'Paris')],
])('%s: thinking, then %s', async ([family, output, events]) => {
  const options = { family: readFamily(family) }
  const thought = [{ type: 'reasoning-delta', text: 'Hm.' }, ...events]
  const ids = await tokenizer.encode(`<|START_THINKING|>Hm.<|END_THINKING|>${output}`)
  expect(
    parse(
      Array.from(ids, (id) => [id]),
      options,
    ).events,
  ).toEqual(thought)
  // In this case the template has closed the reasoning.
  expect(parse([await tokenizer.encode(output)], options).events).toEqual(events)
})

it('sees a special token that is only a part of a marker', async () => {
  const part = { id: FIRST_MARKER, text: '｜DSML｜', special: true }
  const marked = {
    ...tokenizer,
    openTextStream: () => withTexts(tokenizer, (id) => (id === part.id ? part.text : undefined)),
    isSpecial: (id: number) => id === part.id || tokenizer.isSpecial(id),
    addedTokens: [part],
  }
  const pieces = [
    '<',
    'invoke name="get_weather"><',
    'parameter name="city" string="true">Paris</',
    'parameter></',
    'invoke>',
  ]
  const encoded = await Promise.all(pieces.map((piece) => tokenizer.encode(piece)))
  const ids = encoded.flatMap((piece, i) => (i === 0 ? [...piece] : [part.id, ...piece]))
  expect(parse([ids], { family: readFamily('deepseek-v3.2'), tokenizer: marked }).events).toEqual(
    call(0, 'Paris'),
  )
})

it('keeps a control token that ends the output where it ends a call as well', () => {
  const family = readFamily('gpt-oss')
  const end = { id: FIRST_MARKER, text: '<|call|>', special: true }
  const ending = {
    ...tokenizer,
    openTextStream: () => withTexts(tokenizer, (id) => (id === end.id ? end.text : undefined)),
    isSpecial: (id: number) => id === end.id || tokenizer.isSpecial(id),
    addedTokens: [end],
  }
  return tokenizer.encode('<|channel|>commentary to=functions.clock<|message|>').then((ids) => {
    const endIds = new Set([end.id])
    expect(parse([[...ids, end.id]], { family, tokenizer: ending, endIds }).events).toEqual([
      { type: 'tool-call-start', index: 0, id: expect.any(String), name: 'clock' },
      { type: 'tool-call-delta', index: 0, text: '{}' },
    ])
  })
})

it('counts the calls of a family that numbers them through the conversation', () => {
  const kimi = forced.find(({ name }) => name === 'forced-f5-kimi-k2')
  const { events } = parse(kimi?.chunks ?? [], { family: readFamily('kimi-k2'), earlierCalls: 3 })
  expect(events[0]).toMatchObject({ id: 'functions.get_weather:3' })
})

it('random ids become the same events in any chunks, with stop strings too', () => {
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
    { numRuns: runs(1000, 3000) },
  )
})

it.for<[string, string, boolean]>([
  ['hermes', '<tool_call>{"name": "get_weather", "arguments": {"city": "Par', true],
  ['hermes', '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>', false],
  ['hermes', '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}', false],
  // The first call's arguments are not a part of the second call's arguments.
  [
    'hermes',
    '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call><tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}',
    false,
  ],
  ['hermes', 'Hello', false],
  ['gpt-oss', '<|channel|>commentary to=functions.get_weather<|message|>{"city": "Paris"}', false],
  ['gpt-oss', '<|channel|>commentary to=functions.get_weather<|message|>{"city": "Par', true],
  ['glm-4.5', '<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Par', true],
])('%s: %s is the middle of a call: %s', async ([family, written, isCut]) => {
  const parser = createParser({ family: readFamily(family) })
  parser.push(await tokenizer.encode(written))
  parser.finish()
  expect(parser.isCut()).toBe(isCut)
})

it('tool calls are text when the request has no tools', () => {
  const { events, toolCalls } = parse(recorded('forced-f1-hermes'), { tools: [] })
  expect(events).toEqual([{ type: 'text-delta', text: expect.stringContaining('<tool_call>') }])
  expect(toolCalls).toBe(0)
})

it('stops after the first call where only one is allowed, in the middle of a chunk and of a token', async () => {
  const parser = createParser({ singleCall: true })
  const two = recorded('forced-f1-two-tools').flat()
  const { events, stopped } = parser.push(two)
  expect(stopped).toBe(true)
  expect([...events, ...parser.finish()]).toEqual(call(0, 'Paris'))
  expect(parser.push(two)).toEqual({ events: [], stopped: true })

  // If the close tag is split into several tokens, its last token may also contain the beginning of the next text.
  const shared = 443
  expect(tokenizer.decode([shared])).toMatch(/^>./)
  const after = createParser({ singleCall: true })
  expect(
    after.push(await tokenizer.encode('<tool_call>{"name": "f", "arguments": {}}</tool_call')).stopped,
  ).toBe(false)
  expect(after.push([shared])).toEqual({ events: [], stopped: true })
  expect(after.finish()).toEqual([])
})

it('a call has the same id in every run, and another one in another generation', () => {
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
