import { expect, it, test } from 'vitest'
import { toPython, toSpacedJson, toUnquotedText } from '#libs/dialect/syntax/write-values.ts'

test('JSON is written with blanks as models write it', () => {
  expect(toSpacedJson({ name: 'f', arguments: { a: [1, 'x, y'], b: null } })).toBe(
    '{"name": "f", "arguments": {"a": [1, "x, y"], "b": null}}',
  )
})

test('an unquoted string is written as it is', () => {
  expect([toUnquotedText('a "b"'), toUnquotedText(['a'])]).toEqual(['a "b"', '["a"]'])
})

it.for([
  [{ a: [true, null, -1.5] }, "{'a': [True, None, -1.5]}"],
  ["it's", `"it's"`],
  [`it's "so"`, String.raw`'it\'s "so"'`],
  ['\n\\', String.raw`'\n\\'`],
] as const)('Python prints %j as %s', ([value, python]) => {
  expect(toPython(value)).toBe(python)
})
