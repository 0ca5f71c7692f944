import { globSync, readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ModelFamily } from '#libs/dialect/family.ts'
import { createThinkTags } from '#libs/dialect/reasoning/think-tags.ts'
import { runs } from '#test/support/long.ts'
import { cutAnywhere, everyCut } from '../cuts.ts'

/** The tags of all families, each pair once. */
const FAMILY_TAGS = [
  ...new Map(
    globSync('models/families/*.json').flatMap((path) => {
      const { reasoning } = ModelFamily.parse(JSON.parse(readFileSync(path, 'utf8')))
      return typeof reasoning === 'object' ? [[reasoning.open, reasoning] as const] : []
    }),
  ).values(),
]

type Parts = { reasoning: string; text: string }

/** Parses pieces of text. A null stands for a call. */
function parse(
  pieces: readonly (string | null)[],
  { tags = { open: '<think>', close: '</think>' }, startsInReasoning = false, isCut = false } = {},
): Parts {
  const parts = { reasoning: '', text: '' }
  const parser = createThinkTags({
    tags,
    startsInReasoning,
    onReasoning: (text) => (parts.reasoning += text),
    onText: (text) => (parts.text += text),
  })
  for (const piece of pieces) {
    if (piece === null) parser.interrupt()
    else parser.push(piece)
  }
  parser.finish(isCut)
  return parts
}

describe('wherever the output is cut', () => {
  it.for<[string, boolean, Parts]>([
    ['<think>\nHm.\n\nYes.\n</think>\n\nHello', false, { reasoning: 'Hm.\n\nYes.', text: 'Hello' }],
    ['\n<think>Hm</think>Hello\n', false, { reasoning: 'Hm', text: 'Hello\n' }],
    ['<think>\n\n</think>\n\nHello', false, { reasoning: '', text: 'Hello' }],
    ['Hm.\n</think>\n\nHello', true, { reasoning: 'Hm.', text: 'Hello' }],
    ['\n\n</think>Hello', true, { reasoning: '', text: 'Hello' }],
    ['<think>\nHm.\n</think>Hello', true, { reasoning: 'Hm.', text: 'Hello' }],
    ['never closed\n', true, { reasoning: 'never closed\n', text: '' }],
    ['cut in the tag</thi', true, { reasoning: 'cut in the tag</thi', text: '' }],
    ['a </think > b</think>c', true, { reasoning: 'a </think > b', text: 'c' }],
    ['</think>\n\nHello', false, { reasoning: '', text: 'Hello' }],
    ['\n</think></think>', false, { reasoning: '', text: '' }],
    ['</thin', false, { reasoning: '', text: '</thin' }],
    ['  Hello', false, { reasoning: '', text: '  Hello' }],
    ['\n', false, { reasoning: '', text: '\n' }],
    ['<thin', false, { reasoning: '', text: '<thin' }],
    ['Use <think> and </think>.', false, { reasoning: '', text: 'Use <think> and </think>.' }],
    // Redundant tags, and a second block of reasoning.
    ['<think>\n<think>a</think>b', false, { reasoning: 'a', text: 'b' }],
    ['<think><think>a</think>b', true, { reasoning: 'a', text: 'b' }],
    ['a</think>\n</think>\nb', true, { reasoning: 'a', text: 'b' }],
    ['a</think>\n<think>\nb\n</think>\n\nc', true, { reasoning: 'ab', text: 'c' }],
    ['<think></think><think>a</think>b', false, { reasoning: 'a', text: 'b' }],
    ['<think>a</think>b<think>c</think>d', false, { reasoning: 'ac', text: 'bd' }],
    ['<think>a</think>b.\n<think>c\n</think>\nd', false, { reasoning: 'ac', text: 'b.\nd' }],
    ['a</think>b.\n</think>\n\nc', true, { reasoning: 'a', text: 'b.\nc' }],
    ['a</think>b\n\n<think>never closed', true, { reasoning: 'anever closed', text: 'b\n\n' }],
    // Mentions.
    [
      'a</think>Write `<think>`, "<think>" or </think>!',
      true,
      { reasoning: 'a', text: 'Write `<think>`, "<think>" or </think>!' },
    ],
    [
      '```\n<think>\n</think>\n```\n<think>a</think>b',
      false,
      { reasoning: 'a', text: '```\n<think>\n</think>\n```\nb' },
    ],
  ])('%j (opened by the template: %j) is told apart', ([output, startsInReasoning, parts]) => {
    for (const pieces of everyCut(output)) expect(parse(pieces, { startsInReasoning })).toEqual(parts)
  })

  it.for([
    ['<thi', false, { reasoning: '', text: '' }],
    ['a</thi', true, { reasoning: 'a', text: '' }],
    ['a</think>b\n<', true, { reasoning: 'a', text: 'b\n' }],
  ] as const)(
    '%j of an output that was cut off has no torso of a tag',
    ([output, startsInReasoning, parts]) => {
      for (const pieces of everyCut(output))
        expect(parse(pieces, { startsInReasoning, isCut: true })).toEqual(parts)
    },
  )

  it.for<[before: string, behind: string, boolean, Parts]>([
    ['<think>Hm.\n', '\nYes.</think>Hello', false, { reasoning: 'Hm.Yes.', text: 'Hello' }],
    ['Hm', '', true, { reasoning: 'Hm', text: '' }],
    ['<think>', '</think>g', false, { reasoning: '', text: 'g' }],
    ['<think>Hm</think>', 'Hello', false, { reasoning: 'Hm', text: 'Hello' }],
    ['<think>a </thi', 'b</think>c', false, { reasoning: 'a </thib', text: 'c' }],
    ['<thi', 'Hello', false, { reasoning: '', text: '<thiHello' }],
    ['\n', '<think>a</think>b', false, { reasoning: 'a', text: 'b' }],
  ])(
    '%j, a call, %j (opened: %j): the thinking goes on behind the call',
    ([before, behind, opened, parts]) => {
      for (const pieces of everyCut(before)) {
        for (const rest of everyCut(behind))
          expect(parse([...pieces, null, ...rest], { startsInReasoning: opened })).toEqual(parts)
      }
    },
  )

  it.for(FAMILY_TAGS)('the tags %j of a family are never shown when they are repeated', (tags) => {
    const { open, close } = tags
    const output = `${open}\n${open}a${close}${close}\nb\n${open}c${close}\nd.${open}e${close}`
    for (const pieces of everyCut(output)) {
      expect(parse(pieces, { tags })).toEqual({ reasoning: 'ace', text: 'b\nd.' })
      expect(parse(pieces, { tags, startsInReasoning: true })).toEqual({ reasoning: 'ace', text: 'b\nd.' })
    }
  })

  it('random mixtures of tags and text come out the same', () => {
    const unit = fc.constantFrom('<think>', '</think>', '\n', ' ', '<', 'x', '</', 'think>')
    const output = fc.array(unit, { maxLength: 12 }).map((units) => units.join('').split(''))
    fc.assert(
      fc.property(
        output.chain((units) => fc.tuple(fc.constant(units), cutAnywhere(units))),
        fc.boolean(),
        ([units, pieces], startsInReasoning) => {
          const cut = parse(
            pieces.map((piece) => piece.join('')),
            { startsInReasoning },
          )
          expect(cut).toEqual(parse([units.join('')], { startsInReasoning }))
        },
      ),
      { numRuns: runs(2000, 5000) },
    )
  })
})

it('emits reasoning at once, except line breaks and what may be the close tag', () => {
  const out: string[] = []
  const parser = createThinkTags({
    tags: { open: '<think>', close: '</think>' },
    startsInReasoning: true,
    onReasoning: (text) => out.push(text),
    onText: (text) => out.push(text),
  })
  parser.push('\nLet me ')
  parser.push('see.\n')
  parser.push('\nWell</th')
  expect(out).toEqual(['Let me ', 'see.', '\n\nWell'])
  expect(parser.isReasoning()).toBe(true)
  parser.push('ink>')
  expect(parser.isReasoning()).toBe(false)
})
