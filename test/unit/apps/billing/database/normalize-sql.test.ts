import { expect, test } from 'vitest'
import { normalizeSql } from '#apps/billing/database/normalize-sql.ts'

test.each([
  ['select 1 -- one\n  , 2', 'select 1 , 2'],
  ['-- head\nselect 1\n\n', 'select 1'],
  ['select /* a /* nested */ comment */ 1', 'select 1'],
  ['a/**/b', 'a b'],
  ['a -- x\n -- y\n /* z */ b', 'a b'],
  [
    'create function f() returns int as $$\n  select 1 -- why\n$$;',
    'create function f() returns int as $$select 1$$;',
  ],
  ['do $body$ begin /* x */ null; end $body$', 'do $body$begin null; end$body$'],
])('%j becomes %j', (sql, normalized) => {
  expect(normalizeSql(sql)).toBe(normalized)
})

test.each([
  ["select '--  no comment /* here */'"],
  ["select 'it''s  -- one text'"],
  [String.raw`select E'a\'  -- still the text'`],
  ['select "a  -- name"'],
  ['select $$  -- a text  $$'],
  ['select $1, a$b$c'],
  ["select f('x  y', $q$a $$ b  c$q$)"],
])('%j stays as it is', (sql) => {
  expect(normalizeSql(sql)).toBe(sql)
})

test('a text within the code of a function stays as it is', () => {
  const code = "as $$begin raise 'two  spaces -- and more'; end$$"
  expect(normalizeSql(code)).toBe(code)
})

test.each([['select 1 /* a'], ['select $$ a'], ['do $a$ begin $b$']])('%j is an error', (sql) => {
  expect(() => normalizeSql(sql)).toThrow('has no end')
})
