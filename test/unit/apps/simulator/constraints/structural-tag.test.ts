import { expect, test } from 'vitest'
import { ConstraintError } from '#apps/simulator/constraints/constraint-error.ts'
import { fromStructuralTag } from '#apps/simulator/constraints/structural-tag.ts'

const hints = { userText: '', text: 'Rome', variant: 0 }
const json = { type: 'json_schema', json_schema: { type: 'string' } }
const tag = { type: 'tag', begin: '<', content: json, end: '>' }
const answer = { type: 'sequence', elements: [{ type: 'const_string', value: 'final ' }, json] }
const calls = { type: 'tags_with_separator', tags: [tag], separator: '\n', at_least_one: true }

const choice = {
  type: 'or',
  elements: [
    { type: 'const_string', value: 'yes' },
    { type: 'const_string', value: 'no' },
  ],
}
const section = { type: 'tag', begin: '(', content: calls, end: ')' }
const triggered = { type: 'triggered_tags', triggers: ['('] }
const thought = { type: 'tag', begin: '{', content: { type: 'any_text' }, end: '}' }

const either = { type: 'or', elements: [answer, section] }
const behindThought = (output: object) => ({ type: 'sequence', elements: [thought, output] })

test.each<[format: object, constraint: object]>([
  [json, { kind: 'text' }],
  [answer, { kind: 'text' }],
  [{ type: 'regex', pattern: 'a+' }, { kind: 'text' }],
  [choice, { kind: 'text' }],
  [{ type: 'sequence', elements: [{ type: 'const_string', value: 'final ' }, choice] }, { kind: 'text' }],
  [{ type: 'or', elements: [choice, calls] }, { kind: 'tags-or-text' }],
  [section, { kind: 'tags', section: { begin: '(', end: ')' }, separator: '\n', forced: true }],
  [
    { ...triggered, tags: [section] },
    { kind: 'tags', section: { begin: '(', end: ')' }, forced: false },
  ],
  [either, { kind: 'tags-or-text' }],
  [behindThought(answer), { kind: 'after-thinking', begin: '{', end: '}', output: { kind: 'text' } }],
  [behindThought(section), { kind: 'after-thinking', output: { kind: 'tags' } }],
  [behindThought(either), { kind: 'after-thinking', output: { kind: 'tags-or-text' } }],
  [calls, { kind: 'tags', forced: true, single: false }],
  [
    { ...calls, stop_after_first: true },
    { kind: 'tags', forced: true, single: true },
  ],
  [
    { type: 'triggered_tags', triggers: ['<'], tags: [tag] },
    { kind: 'tags', forced: false, single: false },
  ],
  [
    { type: 'or', elements: [json, calls] },
    { kind: 'tags-or-text', tags: { forced: true, single: false } },
  ],
])('%j is read', (format, constraint) => {
  expect(fromStructuralTag({ format })).toMatchObject(constraint)
})

test('the JSON of a tag and of an answer is written', () => {
  const constraint = fromStructuralTag({ format: { type: 'or', elements: [answer, calls] } })
  if (constraint.kind !== 'tags-or-text') throw new Error(`it is ${constraint.kind}`)
  expect(constraint.write(hints)).toBe('final "Rome"')
  expect(constraint.tags.tags.map((one) => one.begin + one.write(hints) + one.end)).toEqual(['<"Rome">'])
})

test.each([
  [3],
  [thought],
  [{ type: 'grammar', grammar: 'root ::= "a"' }],
  [{ type: 'regex', pattern: '(?=a)' }],
  [{ type: 'or', elements: [] }],
  [{ type: 'sequence', elements: [thought] }],
  [behindThought(behindThought(json))],
  [{ type: 'nonsense' }],
  [{ ...calls, tags: [] }],
  [{ ...calls, separator: 3 }],
  [{ ...calls, tags: [{ ...tag, content: { type: 'json_schema', json_schema: { type: 'nonsense' } } }] }],
  [{ type: 'or', elements: [{ type: 'json_schema', json_schema: false }, calls] }],
])('%j is refused', (format) => {
  expect(() => fromStructuralTag({ format })).toThrow(ConstraintError)
})
