import { describe, expect, it } from 'vitest'
import { createParser, parse, readFamily, tokenizer } from './parse-tokens.ts'
import { FIRST_MARKER, withTexts } from './with-texts.ts'

const call = (index: number, city: string) => [
  { type: 'tool-call-start', index, id: expect.any(String), name: 'get_weather' },
  { type: 'tool-call-delta', index, text: `{"city": "${city}"}` },
]

describe('stop strings', () => {
  const markup: Record<string, string> = {
    hermes: '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>',
    'gpt-oss': '<|channel|>commentary to=functions.get_weather<|message|>{"city": "Paris"}<|call|>',
    'kimi-k2':
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|><|tool_calls_section_end|>',
    'qwen3-coder':
      '<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>',
  }
  const OF_MARKUP = [
    'tool',
    'call',
    '\n',
    ':',
    '"',
    '<',
    '|',
    'final',
    'analysis',
    'commentary',
    'Paris',
    'get_weather',
    '>',
  ]

  it.for(Object.entries(markup))(
    'do not act on the markup or the arguments of a call: %s',
    async ([family, written]) => {
      const ids = Array.from(await tokenizer.encode(written), (id) => [id])
      const expected = parse(ids, { family: readFamily(family) })
      expect(expected.toolCalls).toBe(1)
      for (const stop of OF_MARKUP)
        expect(parse(ids, { family: readFamily(family), stop: [stop] })).toEqual(expected)
    },
  )

  it.for([
    ['qwen3', '<think>one\ntwo</think>three\nfour'],
    [
      'gpt-oss',
      '<|channel|>analysis<|message|>one\ntwo<|end|><|start|>assistant<|channel|>final<|message|>three\nfour',
    ],
    ['command4', '<|START_THINKING|>one\ntwo<|END_THINKING|><|START_TEXT|>three\nfour<|END_TEXT|>'],
  ])('act on the answer behind the reasoning, never inside it: %s', async ([family = '', written = '']) => {
    const ids = Array.from(await tokenizer.encode(written), (id) => [id])
    for (const stop of ['\n', '\nf', 'e\nfo']) {
      const { events } = parse(ids, { family: readFamily(family), stop: [stop] })
      const shown = 'three\nfour'.slice(0, 'three\nfour'.indexOf(stop))
      expect(events).toEqual([
        { type: 'reasoning-delta', text: 'one\ntwo' },
        { type: 'text-delta', text: shown },
      ])
    }
  })

  it('act on the text before and behind a call, and not over one', async () => {
    const written =
      'Look: a<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>b, done'
    const ids = Array.from(await tokenizer.encode(written), (id) => [id])
    const before = { type: 'text-delta', text: 'Look' }
    expect(parse(ids, { stop: [':'] }).events).toEqual([before])
    const whole = { type: 'text-delta', text: 'Look: a' }
    expect(parse(ids, { stop: ['ab'] }).events).toEqual([
      whole,
      ...call(0, 'Paris'),
      { type: 'text-delta', text: 'b, done' },
    ])
    expect(parse(ids, { stop: [','] }).events).toEqual([
      whole,
      ...call(0, 'Paris'),
      { type: 'text-delta', text: 'b' },
    ])
  })

  it('are found in the buffered rest of the output', async () => {
    const parser = createParser({ stop: ['\n'] })
    expect(parser.push(await tokenizer.encode('one\n')).stopped).toBe(false)
    expect(parser.finish()).toEqual([])
    expect(parser.isStopped()).toBe(true)
  })

  it('end the text, and the rest of the chunk is not read', async () => {
    const parser = createParser({ stop: [' wor'] })
    const { events, stopped } = parser.push(await tokenizer.encode('Hello world, hello'))
    expect(events).toEqual([{ type: 'text-delta', text: 'Hello' }])
    expect(stopped).toBe(true)
    expect(parser.push(await tokenizer.encode('more'))).toEqual({ events: [], stopped: true })
    expect(parser.finish()).toEqual([])
  })

  it('end the counting of reasoning too, where the same chunk goes on to think', async () => {
    const written =
      '<|channel|>final<|message|>Look, there<|end|><|start|>assistant<|channel|>analysis<|message|>I think on'
    const parser = createParser({ family: readFamily('gpt-oss'), stop: [','] })
    const { events, stopped } = parser.push(await tokenizer.encode(written))
    expect(events).toEqual([{ type: 'text-delta', text: 'Look' }])
    expect(stopped).toBe(true)
    expect(parser.reasoningTokens()).toBe(0)
  })

  it('buffer what may begin one, and release it when the output ends', async () => {
    const parser = createParser({ stop: ['lo!'], tools: [] })
    expect(parser.push(await tokenizer.encode('Hello')).events).toEqual([{ type: 'text-delta', text: 'Hel' }])
    expect(parser.finish()).toEqual([{ type: 'text-delta', text: 'lo' }])
  })

  it('what one token writes behind a stop string is dropped, text and calls alike', () => {
    const written =
      'Look, and so on<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'
    const whole = { ...tokenizer, openTextStream: () => withTexts(tokenizer, () => written) }
    const options = { tokenizer: whole, stop: [','] }
    expect(parse([[FIRST_MARKER]], options)).toMatchObject({
      events: [{ type: 'text-delta', text: 'Look' }],
      toolCalls: 0,
    })
  })
})

it('no stop string ends the output before a least number of tokens, and the next one after it does', async () => {
  const text = 'a##b##c'
  const ids = Array.from(await tokenizer.encode(text), (id) => [id])
  const family = { toolCalls: 'none', reasoning: 'none', callIds: 'opaque' } as const
  const shown = (minTokens: number) => parse(ids, { family, stop: ['##'], minTokens }).events
  expect(shown(0)).toEqual([{ type: 'text-delta', text: 'a' }])
  expect(shown(ids.length - 2)).toEqual([{ type: 'text-delta', text: 'a##b' }])
  expect(shown(ids.length)).toEqual([{ type: 'text-delta', text }])
})
