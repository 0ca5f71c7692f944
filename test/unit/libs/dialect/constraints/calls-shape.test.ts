import { describe, expect, it } from 'vitest'
import { CALL_WRITERS, type CallFormat } from '#apps/simulator/persona/write-calls.ts'
import { callsFormat, toCallsShape, triggerOf } from '#libs/dialect/constraints/calls-shape.ts'
import type { CallsShape } from '#apps/worker/engine/engine-client.ts'
import { parseWith } from '../parse-under-test.ts'

const FORMATS = Object.keys(CALL_WRITERS).filter((name): name is CallFormat => name in CALL_WRITERS)
const schema = { type: 'object' }
const tools = [
  { name: 'search', schema },
  { name: 'world_clock', schema },
]
const held = { toolChoice: 'required', outputFormat: { type: 'text' } } as const

/** What an engine that is held to a shape writes: each tag once, with these arguments. */
const written = ({ section, tags, separator }: CallsShape, args: string) =>
  (section?.begin ?? '') +
  tags.map(({ begin, end }) => begin + args + end).join(separator) +
  (section?.end ?? '')

describe.for(FORMATS)('%s', (format) => {
  const readAs = callsFormat(held, format)
  if (readAs === 'none') throw new Error('a format with calls')

  it('calls that are held to their shape are read as what they are', () => {
    const output = written(toCallsShape(format, tools, false), '{"text": "a"}')
    expect(parseWith(readAs, Array.from(output))).toEqual({
      text: '',
      calls: [
        { name: 'search', arguments: '{"text": "a"}' },
        { name: 'world_clock', arguments: '{"text": "a"}' },
      ],
    })
  })

  it('a trigger stands where the shape begins', () => {
    const { section, tags } = toCallsShape(format, tools, false)
    const begin = section?.begin ?? tags[0]?.begin
    expect(begin?.startsWith(triggerOf(format) ?? '')).toBe(true)
  })

  it('the shape is what a well-trained model writes, or plain JSON', () => {
    const [first] = tools
    if (first === undefined) throw new Error('a tool')
    const output = written(toCallsShape(format, [first], true), '{"text": "a"}')
    const meant = [{ name: 'search', args: { text: 'a' }, json: '{"text": "a"}' }]
    // A grammar for harmony begins behind the thinking, with the header that the template writes else.
    const start = format === 'harmony' ? '<|start|>assistant' : ''
    expect(output).toBe(start + CALL_WRITERS[readAs](meant))
  })
})

it('a format is the family’s own unless a grammar without a shape for it is to hold the calls', () => {
  const json = { type: 'json-object' } as const
  const text = { type: 'text' } as const
  expect(callsFormat({ toolChoice: 'auto', outputFormat: text }, 'glm-4.5')).toBe('glm-4.5')
  expect(callsFormat({ toolChoice: 'none', outputFormat: json }, 'glm-4.5')).toBe('glm-4.5')
  expect(callsFormat({ toolChoice: 'auto', outputFormat: json }, 'glm-4.5')).toBe('json')
  expect(callsFormat({ toolChoice: { name: 'f' }, outputFormat: text }, 'qwen3-coder')).toBe('json')
  expect(callsFormat({ toolChoice: 'required', outputFormat: text }, 'pythonic')).toBe('json')
  expect(callsFormat({ toolChoice: 'required', outputFormat: text }, 'kimi-k2')).toBe('kimi-k2')
  expect(callsFormat({ toolChoice: 'required', outputFormat: text }, 'none')).toBe('none')
})
