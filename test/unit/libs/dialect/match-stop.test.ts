import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createStopMatcher } from '#libs/dialect/match-stop.ts'
import { runs } from '#test/support/long.ts'
import { cutAnywhere, everyCut } from './cuts.ts'

type Result = { text: string; matched: string | null }

function run(stops: string[], pieces: readonly string[]): Result {
  const matcher = createStopMatcher(stops)
  let text = ''
  for (const piece of pieces) text += matcher.push(piece)
  text += matcher.flush()
  return { text, matched: matcher.matched() }
}

/** Finds by trial the match that ends first; if several end there, the longest. */
function expected(stops: string[], text: string): Result {
  for (let end = 1; end <= text.length; end++) {
    const ending = stops.filter((stop) => stop !== '' && text.slice(0, end).endsWith(stop))
    const longest = ending.sort((a, b) => b.length - a.length)[0]
    if (longest !== undefined) return { text: text.slice(0, end - longest.length), matched: longest }
  }
  return { text, matched: null }
}

/** Two letters only, so that stops overlap with themselves and with each other. */
const abText = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength })

describe('the returned text', () => {
  it('ends before the first match, wherever the text is cut', () => {
    fc.assert(
      fc.property(
        fc.array(abText(5), { maxLength: 4 }),
        abText(30).chain((text) => fc.tuple(fc.constant(text), cutAnywhere(text.split('')))),
        (stops, [text, pieces]) => {
          const result = run(
            stops,
            pieces.map((piece) => piece.join('')),
          )
          expect(result).toEqual(expected(stops, text))
        },
      ),
      { numRuns: runs(2000, 5000) },
    )
  })

  it('lacks only the longest suffix that may begin a stop string', () => {
    fc.assert(
      fc.property(fc.array(abText(5), { minLength: 1, maxLength: 3 }), abText(20), (stops, text) => {
        const matcher = createStopMatcher(stops)
        const out = matcher.push(text)
        fc.pre(matcher.matched() === null)
        const suffixes = Array.from(text, (_, at) => text.slice(at))
        const held = suffixes.find((suffix) => stops.some((stop) => stop.startsWith(suffix))) ?? ''
        expect(out).toBe(text.slice(0, text.length - held.length))
      }),
      { numRuns: runs(2000, 5000) },
    )
  })

  it('is cut at a real stop string at every split', () => {
    for (const pieces of everyCut('One\n\nTwo ###\nrest')) {
      expect(run(['###\n', '\n\n\n'], pieces)).toEqual({ text: 'One\n\nTwo ', matched: '###\n' })
    }
  })

  it('is everything when there are no stop strings, or only empty ones', () => {
    expect(run([], ['a', 'b'])).toEqual({ text: 'ab', matched: null })
    expect(run([''], ['a', 'b'])).toEqual({ text: 'ab', matched: null })
  })
})

it('is empty after a match', () => {
  const matcher = createStopMatcher(['aba'])
  expect(matcher.push('xaba!')).toBe('x')
  expect(matcher.push('more') + matcher.flush()).toBe('')
})

it('is linear in the text, whatever the stop string', () => {
  const matcher = createStopMatcher([`${'a'.repeat(50_000)}b`])
  let out = 0
  for (let i = 0; i < 200; i++) out += matcher.push('a'.repeat(1_000)).length
  expect(out + matcher.flush().length).toBe(200_000)
})

it('a stop string counts where it ends: what ends too early is text, what ends later ends the output', () => {
  const shown = (stops: string[], early: string, late: string) => {
    const matcher = createStopMatcher(stops)
    return [matcher.push(early, false) + matcher.push(late) + matcher.flush(), matcher.matched()]
  }
  expect(shown(['ab'], 'xab', 'c')).toEqual(['xabc', null])
  expect(shown(['ab'], 'xa', 'bc')).toEqual(['x', 'ab'])
  expect(shown(['ab'], 'ab', 'cabd')).toEqual(['abc', 'ab'])
  // The match that ends too early is the beginning of the match that counts.
  expect(shown(['aba'], 'xaba', 'bay')).toEqual(['xab', 'aba'])
})
