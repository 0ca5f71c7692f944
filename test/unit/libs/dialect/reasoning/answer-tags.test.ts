import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAnswerTags } from '#libs/dialect/reasoning/answer-tags.ts'
import { runs } from '#test/support/long.ts'
import { cutAnywhere, everyCut } from '../cuts.ts'

function collect() {
  const out: string[] = []
  const parser = createAnswerTags({
    tags: { open: '<response>', close: '</response>' },
    onText: (text) => out.push(text),
  })
  return { parser, out }
}

/** Parses pieces of text. A null stands for a call. */
function parse(pieces: readonly (string | null)[]): string {
  const { parser, out } = collect()
  for (const piece of pieces) {
    if (piece === null) parser.interrupt()
    else parser.push(piece)
  }
  parser.finish()
  return out.join('')
}

describe('wherever the answer is cut', () => {
  it.for([
    ['<response>Hello</response>', 'Hello'],
    ['\n<response>\n\n  Hello\n</response>\n', '  Hello'],
    ['<response>Hello</response></response>', 'Hello'],
    ['<response></response>', ''],
    // Not closed, or cut in the tag.
    ['<response>Hello\n', 'Hello\n'],
    ['<response>Hello</resp', 'Hello</resp'],
    ['<resp', '<resp'],
    ['\n', '\n'],
    // A tag that is neither at the beginning nor at the end of the answer is text.
    ['Hello</response>', 'Hello</response>'],
    [' Use <response> and </response>', ' Use <response> and </response>'],
    ['<response>Close it by </response>, then go on.</response>', 'Close it by </response>, then go on.'],
    ['<response>a</response> b\n', 'a</response> b\n'],
    ['<response>a</response>\n</resp', 'a</response>\n</resp'],
  ] as const)('%j is %j', ([output, text]) => {
    for (const pieces of everyCut(output)) expect(parse(pieces)).toBe(text)
  })

  it.for([
    ['<response>Hello</response>\n', '\n', 'Hello\n'],
    ['<response>a', '</response>', 'a'],
    ['<response>Hello\n', '</response>\n', 'Hello'],
    ['<response>a</response> b ', '', 'a</response> b'],
    ['<response>a</resp', 'b</response>', 'a</respb'],
    ['<resp', 'a', '<respa'],
  ] as const)('%j, a call, %j is %j', ([before, behind, text]) => {
    for (const pieces of everyCut(before)) {
      for (const rest of everyCut(behind)) expect(parse([...pieces, null, ...rest])).toBe(text)
    }
  })

  it('random mixtures of tags and text come out the same', () => {
    const unit = fc.constantFrom('<response>', '</response>', '\n', ' ', '<', 'x', '</')
    const output = fc.array(unit, { maxLength: 12 }).map((units) => units.join('').split(''))
    fc.assert(
      fc.property(
        output.chain((units) => fc.tuple(fc.constant(units), cutAnywhere(units))),
        ([units, pieces]) => {
          expect(parse(pieces.map((piece) => piece.join('')))).toBe(parse([units.join('')]))
        },
      ),
      { numRuns: runs(2000, 5000) },
    )
  })
})

it('emits the answer at once, except blanks and what may be a tag', () => {
  const { parser, out } = collect()
  for (const piece of ['<response>', 'Hel', 'lo \n', '1 <', ' 2</', 'response>']) parser.push(piece)
  expect(out).toEqual(['Hel', 'lo', ' \n1', ' < 2'])
})
