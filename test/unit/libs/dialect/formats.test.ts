import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CALL_WRITERS, type CallFormat } from '#apps/simulator/persona/write-calls.ts'
import { beginningsOf, markersOf, TOOL_FORMATS } from '#libs/dialect/formats.ts'
import { cutAnywhere, everyCut } from './cuts.ts'
import { countWork } from './count-work.ts'
import { parserOf, parseWith } from './parse-under-test.ts'
import { meantCalls, TRANSLATED, UNMARKED } from './written-calls.ts'

const FORMATS = Object.keys(CALL_WRITERS).filter((name): name is CallFormat => name in CALL_WRITERS)

/** A text and random cuts of it, between characters as tokens have them. */
const cutText = (text: fc.Arbitrary<string>) =>
  text.chain((whole) => {
    const characters = Array.from(whole)
    return fc.tuple(
      fc.constant(whole),
      cutAnywhere(characters).map((cuts) => cuts.map((cut) => cut.join(''))),
    )
  })

describe.for(FORMATS)('%s', (format) => {
  const meant = meantCalls(format)

  it('any calls come out as they were meant, wherever their text is cut', () => {
    fc.assert(
      fc.property(
        meant,
        fc.constantFrom('', 'Let me see.\n'),
        fc.infiniteStream(fc.nat()),
        (calls, said, cuts) => {
          const before =
            format === 'harmony' && said !== ''
              ? `<|channel|>final<|message|>${said}<|end|><|start|>assistant`
              : said
          const output = before + CALL_WRITERS[format](calls)
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
      { numRuns: 500 },
    )
  })

  it('gives the same for one chunk, every split in two and character by character', () => {
    fc.assert(
      fc.property(meant, (calls) => {
        const output = `${CALL_WRITERS[format](calls)}\nDone.`
        const whole = parseWith(format, [output])
        expect(parseWith(format, Array.from(output))).toEqual(whole)
        for (const pieces of everyCut(output).filter(({ length }) => length === 2)) {
          expect(parseWith(format, wholeCharacters(pieces))).toEqual(whole)
        }
      }),
      { numRuns: 20 },
    )
  })

  it('random mixtures of markup and text come out the same however they are cut, and without a call they are all text', () => {
    const markup = format === 'harmony' ? HARMONY : [...markersOf(TOOL_FORMATS[format])]
    // Control tokens are no text, whatever becomes of them.
    const keepsMarkers = format !== 'harmony' && TOOL_FORMATS[format].control === null
    const sample = CALL_WRITERS[format]([
      { name: 'search', args: { text: 'a', count: 1 }, json: '{"text": "a"}' },
    ])
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
        expect(parseWith(format, pieces, { single })).toEqual(whole)
        const isAllText = keepsMarkers && whole.calls.length === 0
        expect(isAllText ? whole.text : text).toBe(text)
      }),
      { numRuns: 3000 },
    )
  })

  it('output that is cut short anywhere ends as text or as a call that goes as far as it came', () => {
    fc.assert(
      fc.property(meant, (calls) => {
        const output = CALL_WRITERS[format](calls)
        const whole = parseWith(format, [output])
        for (let end = 0; end < output.length; end++) {
          const parts = parseWith(format, wholeCharacters([output.slice(0, end)]))
          expect(parts.calls.length).toBeLessThanOrEqual(calls.length)
          for (const [i, call] of parts.calls.entries()) {
            expect(call.name).toBe(whole.calls[i]?.name)
            // A value that is no string is only known when it is whole.
            const known = TRANSLATED.has(format) ? '' : call.arguments
            expect(whole.calls[i]?.arguments.startsWith(known)).toBe(true)
          }
        }
      }),
      { numRuns: 10 },
    )
  })

  it('plain text goes out at once, but for what may begin a marker', () => {
    const { parser, parts } = parserOf(format)
    let read = ''
    for (const word of ['Well', ', ', 'a ', '<b>', ' is', ' 1', ' < 2']) {
      parser.push(word)
      read += word
      expect(parts.text.trimEnd()).toBe(read.trimEnd())
    }
  })

  it('never holds back more than blanks and what may begin a marker', () => {
    const markup = format === 'harmony' ? HARMONY_BEGINNINGS : beginningsOf(TOOL_FORMATS[format])
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
          const held = read.slice(parts.text.length).trim()
          expect(['', ...markup].some((marker) => marker.startsWith(held))).toBe(true)
        }
        parser.finish()
        expect(parts.text).toBe(read)
      }),
      { numRuns: 300 },
    )
  })

  it('is over with its only call, and reads nothing behind it', () => {
    const [first, second] = ['Rome', 'Oslo'].map((text) => ({
      name: 'search',
      args: { text },
      json: `{"text": "${text}"}`,
    }))
    if (first === undefined || second === undefined) throw new Error('two calls')
    const parts = parseWith(format, [`${CALL_WRITERS[format]([first, second])} and more`], { single: true })
    expect(parts).toEqual({ text: '', calls: [{ name: 'search', arguments: '{"text": "Rome"}' }] })
  })

  it('reads 100 kB of arguments in a number of steps that grows with their length alone', () => {
    const work = (characters: number) => {
      const text = 'lorem "ipsum" \\ dolor, {sit} '.repeat(characters / 28)
      const calls = [{ name: 'search', args: { text }, json: JSON.stringify({ text }) }]
      const tokens = CALL_WRITERS[format](calls).match(/[^]{1,4}/g) ?? []
      return countWork(() => {
        expect(parseWith(format, tokens).calls[0]?.arguments.length).toBeGreaterThan(characters)
      })
    }
    const [small, large] = [work(10_000), work(100_000)]
    expect(large).toBeLessThan(small * 11)
    expect(large).toBeLessThan(100_000 * 20)
  })
})

it.for(Object.entries(TOOL_FORMATS))(
  '%s: no marker begins with another one that may stand in its place',
  ([, format]) => {
    const { calls, section, list, control } = format
    const outside = [
      ...Object.keys(calls),
      ...(section === null ? [] : [section.open, section.close]),
      ...(list?.openers ?? []),
      ...(control?.leftovers ?? []),
    ]
    for (const marker of outside) {
      for (const other of outside) expect(marker !== other && marker.startsWith(other)).toBe(false)
    }
  },
)

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

/** The pieces, no surrogate pair torn: no decoder gives half a character. */
function wholeCharacters(pieces: readonly string[]): string[] {
  const [first = '', ...rest] = pieces
  const torn = /[\uD800-\uDBFF]$/.test(first)
  const next = torn ? (rest[0]?.slice(0, 1) ?? '') : ''
  const begin = torn && next === '' ? first.slice(0, -1) : first + next
  return rest.length === 0 ? [begin] : [begin, rest[0]?.slice(next.length) ?? '']
}
