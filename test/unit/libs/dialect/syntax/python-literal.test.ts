import { describe, expect, it } from 'vitest'
import { createPythonLiteral } from '#libs/dialect/syntax/python-literal.ts'
import { everyCut } from '../cuts.ts'

/** Returns the JSON output, and the text that follows the literal or does not belong to it. */
function read(pieces: readonly string[]) {
  const parts = { json: '', rest: '' }
  const literal = createPythonLiteral((json) => (parts.json += json))
  for (const piece of pieces) parts.rest += piece.slice(literal.read(piece, 0))
  return { ...parts, rest: literal.unread() + parts.rest, state: literal.state() }
}

describe('wherever the text is cut', () => {
  it.for<[string, string]>([
    // Strings.
    [`'a'`, '"a"'],
    [`"it's"`, `"it's"`],
    [`'say "hi"'`, String.raw`"say \"hi\""`],
    [`''`, '""'],
    [`""`, '""'],
    [String.raw`'\'\"\\\n\t\r\b\f'`, String.raw`"'\"\\\n\t\r\b\f"`],
    [String.raw`'\x41\xe9\u00e9\u6771\U0001F600\ud83d\ude00'`, String.raw`"Aéé東😀\ud83d\ude00"`],
    [String.raw`'\a\v\0\101\08'`, String.raw`"\u0007\u000b\u0000A\u00008"`],
    [`'a\\\nb'`, '"ab"'],
    ['"a\nb"', String.raw`"a\nb"`],
    // Escapes that Python does not know, or that are cut off, are text.
    [String.raw`'\d\/\xg\u12'`, String.raw`"\\d\\/\\xg\\u12"`],
    [String.raw`'\UFFFFFFFF'`, String.raw`"\\UFFFFFFFF"`],
    [`"""say "hi" and ""x"""`, String.raw`"say \"hi\" and \"\"x"`],
    [`''''''`, '""'],
    [`'''a\n'b' \\''''`, String.raw`"a\n'b' '"`],
    // Numbers.
    ['0', '0'],
    ['-12', '-12'],
    ['+3.50', '3.50'],
    ['1.', '1.0'],
    ['-.5', '-0.5'],
    ['1e5', '1e5'],
    ['.5E-3', '0.5E-3'],
    ['1_000_000', '1000000'],
    ['00', '0'],
    ['0xFF', '255'],
    ['-0b_101', '-5'],
    ['0o17', '15'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    // Words.
    ['True', 'true'],
    ['False', 'false'],
    ['None', 'null'],
    ['true', 'true'],
    ['false', 'false'],
    ['null', 'null'],
    // Brackets.
    ['[]', '[]'],
    ['{}', '{}'],
    ['( )', '[]'],
    [`[1, 'a',\n[None] , ]`, '[1, "a", [null]]'],
    ['(800, 600)', '[800, 600]'],
    [`{'a': 1, "b" :{'c': (True,)}, }`, '{"a": 1, "b": {"c": [true]}}'],
    [`{1: 'a', True: 'b', None: [")"]}`, '{"1": "a", "true": "b", "null": [")"]}'],
  ])('%j is %j', ([python, json]) => {
    for (const pieces of everyCut(`${python}, `)) {
      expect(read(pieces)).toEqual({ json, rest: ', ', state: 'over' })
    }
  })

  it.for<[string, string, string]>([
    ['Paris)', '', 'Paris)'],
    ['=1', '', '=1'],
    ['3px)', '', '3px)'],
    ['007)', '', '007)'],
    ['1__0)', '', '1__0)'],
    ['.)', '', '.)'],
    ['-)', '', '-)'],
    [`f'{x}'`, '', `f'{x}'`],
    ['[1, x]', '[1', 'x]'],
    ['[1 2]', '[1', '2]'],
    ['[1,,2]', '[1', ',2]'],
    ['[,]', '[', ',]'],
    ['[1}', '[1', '}'],
    ['(1]', '[1', ']'],
    ['[1: 2]', '[1', ': 2]'],
    [`{'a', 'b'}`, '{"a"', `, 'b'}`],
    [`{'a'}`, '{"a"', '}'],
    [`{'a': }`, '{"a": ', '}'],
    ['{[1]: 2}', '{', '[1]: 2}'],
    ['{a: 1}', '{', 'a: 1}'],
  ])('%j goes as far as %j, and is no literal from %j on', ([python, json, rest]) => {
    for (const pieces of everyCut(python)) expect(read(pieces)).toEqual({ json, rest, state: 'no-literal' })
  })
})

it('emits strings as they come, and other values when they are complete', () => {
  const out: string[] = []
  const literal = createPythonLiteral((json) => out.push(json))
  for (const piece of ['[', '"ab', 'c\\', 'u00', 'e9', '"', ', 1', '2', ']']) literal.read(piece, 0)
  expect(out).toEqual(['[', '"', 'ab', 'c', 'é', '"', ', 12', ']'])
})

it('no depth is too deep', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  expect(read([deep])).toEqual({ json: deep, rest: '', state: 'over' })
})

it('a number of more digits than Python accepts is not a literal, and its buffered text is returned', () => {
  const longest = '1'.repeat(4_300)
  expect(read([`${longest})`])).toEqual({ json: longest, rest: ')', state: 'over' })
  for (const longer of [`${longest}1`, `0x${longest}`]) {
    for (const pieces of [[`[1, ${longer}]`], `[1, ${longer}]`.split('')]) {
      expect(read(pieces)).toEqual({ json: '[1', rest: `${longer}]`, state: 'no-literal' })
    }
  }
})
