import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TOOL_CALL_FORMATS } from '#libs/dialect/formats.ts'
import { replayOutput } from '#libs/dialect/replay-output.ts'
import { runs } from '#test/support/long.ts'
import { FAMILIES, type NamedFamily } from '../../../support/family-models.ts'
import { anyCalls, clock, search } from './any-calls.ts'
import { brokenCuts } from './continued-output.ts'
import { createParser, END_IDS, forced, recordings, tokenizer } from './parse-tokens.ts'

const endIds = [...END_IDS]
const END = endIds.slice(0, 1)
const anyChunking = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 })

describe.for(FAMILIES.map((family) => [family.name, family] as const))('%s', ([, family]) => {
  it('an output goes on after every cut: thinking, text, calls and the end token', async () => {
    const options = { family, tools: [search, clock] }
    const output = fc.record({
      calls:
        family.toolCalls === 'none'
          ? fc.constant([])
          : anyCalls(family.toolCalls).map((all) => all.slice(0, 2)),
      thought: fc.constantFrom(null, 'Hm, 東京? 😀\n\nYes.'),
      text: fc.constantFrom('', 'Größe: “q” \u{10FFFD} <b> < 2\n'),
      stop: fc.constantFrom([], ['\n\nYes'], ['q” '], ['"count": 1', 'zz']),
      startsInReasoning: fc.boolean(),
      singleCall: fc.boolean(),
      ended: fc.boolean(),
      chunking: anyChunking,
      second: anyChunking,
    })
    await fc.assert(
      fc.asyncProperty(output, async ({ chunking, second, ...given }) => {
        const { stop, startsInReasoning, singleCall } = given
        const text = write(family, given)
        const ids = [...(await tokenizer.encode(text)), ...(given.ended ? END : [])]
        const parsed = { ...options, stop, startsInReasoning, singleCall }
        for (const chunks of [[1], chunking]) {
          const found = brokenCuts(ids, { options: parsed, chunking: chunks, second })
          expect(found).toEqual([])
        }
      }),
      { numRuns: runs(2, 5) },
    )
  })
})

/** Writes an output of the family with the given reasoning, text and calls. */
function write(
  { reasoning, toolCalls }: NamedFamily,
  given: {
    calls: Parameters<(typeof TOOL_CALL_FORMATS)['json']['write']>[0]
    thought: string | null
    text: string
  },
): string {
  const { calls, thought, text } = given
  const written = toolCalls === 'none' || calls.length === 0 ? '' : TOOL_CALL_FORMATS[toolCalls].write(calls)
  if (reasoning === 'harmony') return writeMessages({ thought, text, written })
  if (reasoning === 'none' || thought === null) return text + written
  const { open, close, answer } = reasoning
  const said = answer === undefined || text === '' ? text : answer.open + text + answer.close
  return `${open}${thought}${close}\n\n${said}${written}`
}

function writeMessages({
  thought,
  text,
  written,
}: {
  thought: string | null
  text: string
  written: string
}) {
  const messages = [
    ...(thought === null ? [] : [`<|channel|>analysis<|message|>${thought}<|end|>`]),
    ...(text === '' ? [] : [`<|channel|>final<|message|>${text}<|end|>`]),
    written,
  ]
  return messages.join('<|start|>assistant')
}

it.for([...recordings, ...forced])(
  '$name goes on after every cut, as recorded from a real engine',
  ({ chunks }) => {
    const ids = chunks.flat()
    const recorded = chunks.map(({ length }) => length).filter((length) => length > 0)
    for (const chunking of [[1], [3], recorded]) {
      const found = brokenCuts(ids, { chunking, second: [1] })
      expect(found).toEqual([])
    }
  },
)

it('random ids go on after every cut, with stop strings and halves of characters too', () => {
  const marker = fc.constantFrom(2003, 2004, 2005, 2006, 198, 220, 2040)
  const given = fc.record({
    ids: fc.array(fc.oneof(fc.nat({ max: 1_999 }), marker), { maxLength: 40 }),
    stop: fc.array(fc.constantFrom('e', '\n\n', ' the', '>', '\uFFFD'), { maxLength: 2 }),
    startsInReasoning: fc.boolean(),
    chunking: anyChunking,
    second: anyChunking,
  })
  fc.assert(
    fc.property(given, ({ ids, chunking, second, ...options }) => {
      expect(brokenCuts([...ids, ...END], { options, chunking, second })).toEqual([])
    }),
    { numRuns: runs(50, 200) },
  )
})

describe('a replay says whether the output is over', () => {
  const replay = async (text: string, options: Parameters<typeof createParser>[0] = {}) => {
    const parser = createParser(options)
    return replayOutput(parser, { ids: await tokenizer.encode(text), endIds })
  }

  it.for<[string, boolean, Parameters<typeof createParser>[0]]>([
    ['', false, {}],
    ['Hello', false, {}],
    ['Hello', false, { stop: ['lo!'] }],
    ['Hello', true, { stop: ['lo'] }],
    ['Hello<|im_end|>', true, {}],
    ['<tool_call>{"name": "f", "arguments": {}}', false, { singleCall: true }],
    ['<tool_call>{"name": "f", "arguments": {}}</tool_call>', true, { singleCall: true }],
    ['<tool_call>{"name": "f", "arguments": {}}</tool_call>', false, {}],
  ])('%j: %s', async ([text, over, options]) => {
    expect(await replay(text, options)).toBe(over)
  })

  it('and leaves no events behind', async () => {
    const parser = createParser()
    replayOutput(parser, { ids: await tokenizer.encode('Hello'), endIds })
    expect(parser.push(await tokenizer.encode(' you')).events).toEqual([{ type: 'text-delta', text: ' you' }])
  })
})
