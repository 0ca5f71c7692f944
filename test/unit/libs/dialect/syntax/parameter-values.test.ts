import { describe, expect, it } from 'vitest'
import { declaredTypes, isAlwaysText, toJsonText } from '#libs/dialect/syntax/parameter-values.ts'

const tool = {
  name: 'f',
  description: null,
  parameters: {
    properties: {
      text: { type: 'string' },
      word: { enum: ['a', 'b'] },
      maybe: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      count: { type: 'integer' },
      ratio: { type: ['number', 'null'] },
      flag: { type: 'boolean' },
      level: { type: 'integer', nullable: true },
      object: { anyOf: [{ type: 'object' }, { type: 'null' }] },
      list: { $ref: '#/$defs/list' },
      loop: { $ref: '#/properties/loop' },
      any: {},
    },
    $defs: { list: { type: 'array' } },
  },
}

describe('a value that was written without quotes', () => {
  it.for([
    ['text', '42', '"42"'],
    ['text', 'a "b"\n', '"a \\"b\\"\\n"'],
    ['word', 'a', '"a"'],
    ['maybe', 'null', 'null'],
    ['maybe', '42', '"42"'],
    ['maybe', '"quoted"', '"\\"quoted\\""'],
    ['count', ' 42 ', '42'],
    ['count', '4.0', '4'],
    ['count', '-1e3', '-1000'],
    ['count', '9007199254740993', '9007199254740993'],
    ['count', '1_000', '1000'],
    ['count', '+5', '5'],
    ['count', '0x1F', '31'],
    ['count', "'42'", '42'],
    ['count', '"42"', '42'],
    ['count', '4.5', '"4.5"'],
    ['count', '1 000', '"1 000"'],
    ['flag', 'True', 'true'],
    ['flag', 'FALSE', 'false'],
    ['flag', '"true"', 'true'],
    ['flag', 'yes', '"yes"'],
    ['level', 'None', 'null'],
    ['level', 'nil', 'null'],
    ['level', 'NULL', 'null'],
    ['level', '2.0', '2'],
    ['object', "{'a': True, 'b': [1, None,],}", '{"a": true, "b": [1, null]}'],
    ['object', 'undefined', 'null'],
    ['object', "{'a': 1", '"{\'a\': 1"'],
    ['object', "{'a': 1} and more", '"{\'a\': 1} and more"'],
    ['list', "('a', 2.50)", '["a", 2.50]'],
    ['maybe', 'None', 'null'],
    ['maybe', 'NULL', '"NULL"'],
    ['maybe', "'a'", '"\'a\'"'],
    ['ratio', '.5', '0.5'],
    ['ratio', '1.0', '1.0'],
    ['count', 'many', '"many"'],
    ['count', 'true', '"true"'],
    ['ratio', '1e3', '1e3'],
    ['ratio', 'None', 'null'],
    ['list', '[1, 2.50]', '[1, 2.50]'],
    ['list', '{"a": 1}', '"{\\"a\\": 1}"'],
    ['loop', '1', '1'],
    ['any', 'True', 'true'],
    ['any', '42', '42'],
    ['any', 'word', '"word"'],
    ['unknown', '&lt;', '"&lt;"'],
    ['toString', '1', '1'],
  ] as const)('%s: %j is %s', ([parameter, written, json]) => {
    expect(toJsonText(written, declaredTypes(tool, parameter))).toBe(json)
  })
})

it('only values that must be strings are emitted as they come', () => {
  const texts = ['text', 'word', 'maybe', 'count', 'any'].filter((name) =>
    isAlwaysText(declaredTypes(tool, name)),
  )
  expect(texts).toEqual(['text', 'word'])
  expect(declaredTypes(undefined, 'text')).toBeNull()
})
