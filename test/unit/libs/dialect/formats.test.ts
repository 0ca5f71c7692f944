import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TOOL_CALL_FORMAT_NAMES, TOOL_CALL_FORMATS } from '#libs/dialect/formats.ts'
import { markersOf, type TextSyntax } from '#libs/dialect/syntax/text-with-calls.ts'
import { expectEqual } from '#test/support/expect-equal.ts'
import { runs } from '#test/support/long.ts'
import { anyCalls, TRANSLATED, UNMARKED } from './any-calls.ts'
import { cutAnywhere, everyCut } from './cuts.ts'
import { countWork } from './count-work.ts'
import { parserOf, parseWith } from './parse-under-test.ts'

/** Returns the texts with which calls begin, if the format marks calls. */
function beginningsOf({ section, list, calls }: TextSyntax): readonly string[] {
  const opens = section === undefined ? Object.keys(calls ?? {}) : [section.open]
  return [...opens, ...(list?.openers ?? [])]
}

/** Generates a text and random cuts of it. Cuts are between characters, like the boundaries of decoded tokens. */
const cutText = (text: fc.Arbitrary<string>) =>
  text.chain((whole) => {
    const characters = Array.from(whole)
    return fc.tuple(
      fc.constant(whole),
      cutAnywhere(characters).map((cuts) => cuts.map((cut) => cut.join(''))),
    )
  })

const EXAMPLE_CALLS = [
  { name: 'get_weather', args: { city: 'Paris', days: 3 }, json: '{"city": "Paris", "days": 3}' },
  { name: 'clock', args: {}, json: '{}' },
]

describe.for(TOOL_CALL_FORMAT_NAMES)('%s', (format) => {
  const { example, read: syntax, write } = TOOL_CALL_FORMATS[format]
  const anyOfIt = anyCalls(format)

  it('its example is written and read as the two calls that it shows', () => {
    expect(write(EXAMPLE_CALLS)).toBe(example)
    expect(parseWith(format, Array.from(example))).toEqual({
      text: '',
      calls: EXAMPLE_CALLS.map(({ name, json }) => ({ name, arguments: json })),
    })
  })

  it('any written calls are read as the same calls, wherever their text is cut', () => {
    fc.assert(
      fc.property(
        anyOfIt,
        fc.constantFrom('', 'Let me see.\n'),
        fc.infiniteStream(fc.nat()),
        (calls, said, cuts) => {
          const before =
            syntax.type === 'messages' && said !== ''
              ? `<|channel|>final<|message|>${said}<|end|><|start|>assistant`
              : said
          const output = before + write(calls)
          const at = (cuts.next().value ?? 0) % output.length
          const parts = parseWith(format, wholeCharacters([output.slice(0, at), output.slice(at)]))
          const [text, found] = UNMARKED.has(format) && said !== '' ? [output, []] : [said, calls]
          expect(parts.text.trimEnd()).toBe(text.trimEnd())
          expect(parts.calls.map(({ name }) => name)).toEqual(found.map(({ name }) => name))
          const written = TRANSLATED.has(format)
            ? parts.calls.map((call) => call.arguments)
            : found.map(({ json }) => json)
          expect(parts.calls.map((call) => call.arguments)).toEqual(written)
          const values = parts.calls.map((call): unknown => JSON.parse(call.arguments))
          expect(values).toEqual(found.map(({ args }) => args))
        },
      ),
      { numRuns: runs(100, 500) },
    )
  })

  it('gives the same for one chunk, every split in two and character by character', () => {
    fc.assert(
      fc.property(anyOfIt, (calls) => {
        const output = `${write(calls)}\nDone.`
        const whole = parseWith(format, [output])
        expect(parseWith(format, Array.from(output))).toEqual(whole)
        for (const pieces of everyCut(output).filter(({ length }) => length === 2)) {
          expectEqual(parseWith(format, wholeCharacters(pieces)), whole)
        }
      }),
      { numRuns: runs(3, 20) },
    )
  })

  it('random mixtures of markup and text come out the same however they are cut, and without a call all of it is text', () => {
    const markup = syntax.type === 'messages' ? HARMONY : [...markersOf(syntax)]
    // Control tokens never become text.
    const keepsMarkers = syntax.type === 'text' && syntax.control === undefined
    const sample = write([{ name: 'search', args: { text: 'a', count: 1 }, json: '{"text": "a"}' }])
    const unit = fc.oneof(
      fc.constantFrom(...markup, ...markup.map((marker) => marker.slice(0, -2)), sample),
      fc.constantFrom(
        ...'{}[]"\\:,;\n x1<>`'.split(''),
        '{"name": "f", "',
        'arguments": ',
        '"parameters": {',
        'search',
        '[f(',
        'a=',
        "'",
        ')',
      ),
    )
    const output = fc.array(unit, { maxLength: 14 }).map((units) => units.join(''))
    fc.assert(
      fc.property(cutText(output), fc.boolean(), ([text, pieces], single) => {
        const whole = parseWith(format, [text], { single })
        expectEqual(parseWith(format, pieces, { single }), whole)
        const isAllText = keepsMarkers && whole.calls.length === 0
        expectEqual(isAllText ? whole.text : text, text)
      }),
      { numRuns: runs(500, 3000) },
    )
  })

  it('output that ends anywhere is read as text, or as a call with the part of its arguments that came', () => {
    fc.assert(
      fc.property(anyOfIt, (calls) => {
        const output = write(calls)
        const whole = parseWith(format, [output])
        for (let end = 0; end < output.length; end++) {
          const parts = parseWith(format, wholeCharacters([output.slice(0, end)]))
          expectEqual(parts.calls.length <= calls.length, true)
          for (const [i, call] of parts.calls.entries()) {
            expectEqual(call.name, whole.calls[i]?.name)
            // Only strings are emitted before they are complete.
            const known = TRANSLATED.has(format) ? '' : call.arguments
            expectEqual(whole.calls[i]?.arguments.startsWith(known), true)
          }
        }
      }),
      { numRuns: runs(3, 10) },
    )
  })

  it('output that is cut off anywhere in its markup shows no part of it', () => {
    for (const before of syntax.type === 'text' && syntax.list?.unmarked !== true
      ? ['', 'Let me see.\n']
      : ['']) {
      for (let length = 0; length <= example.length; length += 1) {
        const { parser, parts } = parserOf(format)
        parser.push(before + example.slice(0, length))
        parser.finish(true)
        expect(parts.text.trim()).toBe(before.trim())
        for (const call of parts.calls) expect(call.arguments).not.toMatch(/[<|\]]/)
      }
    }
  })

  it('plain text is emitted at once, except what may begin a marker', () => {
    const { parser, parts } = parserOf(format)
    let read = ''
    for (const word of ['Well', ', ', 'a ', '<b>', ' is', ' 1', ' < 2']) {
      parser.push(word)
      read += word
      expect(parts.text.trimEnd()).toBe(read.trimEnd())
    }
  })

  it('buffers nothing but blanks and what may begin a marker', () => {
    const markup = syntax.type === 'messages' ? HARMONY_BEGINNINGS : beginningsOf(syntax)
    const beginnings = markup.flatMap((marker) => Array.from(marker, (_, i) => marker.slice(0, i)))
    const word = fc.constantFrom('so', ' a', '\n', ' 1 < 2', '<b>', '{x}', '[y]', '。', ...beginnings)
    fc.assert(
      fc.property(fc.array(word, { maxLength: 20 }), (words) => {
        const { parser, parts } = parserOf(format)
        let read = 'x'
        parser.push(read)
        for (const added of words) {
          parser.push(added)
          read += added
          const buffered = read.slice(parts.text.length).trim()
          expectEqual(buffered === '' || markup.some((marker) => marker.startsWith(buffered)), true)
        }
        parser.finish()
        expect(parts.text).toBe(read)
      }),
      { numRuns: runs(100, 300) },
    )
  })

  it('ends after its only call and reads nothing after it', () => {
    const [first, second] = ['Rome', 'Oslo'].map((text) => ({
      name: 'search',
      args: { text },
      json: `{"text": "${text}"}`,
    }))
    if (first === undefined || second === undefined) throw new Error('two calls')
    const parts = parseWith(format, [`${write([first, second])} and more`], { single: true })
    expect(parts).toEqual({ text: '', calls: [{ name: 'search', arguments: '{"text": "Rome"}' }] })
  })

  it('reads 100 kB of arguments in a number of steps that grows with their length alone', () => {
    const work = (characters: number) => {
      const text = 'lorem "ipsum" \\ dolor, {sit} '.repeat(characters / 28)
      const calls = [{ name: 'search', args: { text }, json: JSON.stringify({ text }) }]
      const tokens = write(calls).match(/[^]{1,4}/g) ?? []
      return countWork(() => {
        expect(parseWith(format, tokens).calls[0]?.arguments.length).toBeGreaterThan(characters)
      })
    }
    const [small, large] = [work(10_000), work(100_000)]
    expect(large).toBeLessThan(small * 11)
    expect(large).toBeLessThan(100_000 * 20)
  })
})

it.for(TOOL_CALL_FORMAT_NAMES)('%s: no marker begins with another one of the same place', (format) => {
  const syntax = TOOL_CALL_FORMATS[format].read
  const outside =
    syntax.type === 'messages'
      ? syntax.markers
      : [
          ...Object.keys(syntax.calls ?? {}),
          ...(syntax.section === undefined ? [] : [syntax.section.open, syntax.section.close]),
          ...(syntax.list?.openers ?? []),
          ...(syntax.control?.leftovers ?? []),
        ]
  expect(outside).not.toEqual([])
  for (const marker of outside) {
    for (const other of outside) expect(marker !== other && marker.startsWith(other)).toBe(false)
  }
})

const HARMONY_BEGINNINGS = ['<|start|>', '<|channel|>', '<|message|>', '<|constrain|>', '<|end|>', '<|call|>']

const HARMONY = [
  '<|start|>',
  '<|channel|>',
  '<|message|>',
  '<|constrain|>',
  '<|end|>',
  '<|call|>',
  ' to=f',
  'final',
]

/** Moves cuts out of surrogate pairs, because no decoder returns half a character. */
function wholeCharacters(pieces: readonly string[]): string[] {
  const [first = '', ...rest] = pieces
  const torn = /[\uD800-\uDBFF]$/.test(first)
  const next = torn ? (rest[0]?.slice(0, 1) ?? '') : ''
  const begin = torn && next === '' ? first.slice(0, -1) : first + next
  return rest.length === 0 ? [begin] : [begin, rest[0]?.slice(next.length) ?? '']
}
