import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createPythonTemplate } from '#libs/text/python-template.ts'

const { values, snippets } = z
  .object({
    values: z.record(z.string(), z.unknown()),
    snippets: z.array(z.object({ template: z.string(), text: z.string().nullable() })).min(40),
  })
  .parse(JSON.parse(readFileSync('test/fixtures/text/template-snippets.json', 'utf8')))

/** What the engine does not have: a template with it is refused, by the engine's words. */
const LACKING = [
  '{% set x = [] %}{% set _ = x.append(1) %}{{ x }}',
  '{{ (1,) }}',
  "{{ 'x%sy' % 'a' }}",
  "{{ '%s' | format('a') }}",
  "{{ 'x{}y'.format(1) }}",
  "{{ ['a', 'b'] | map('upper') | join(',') }}",
  "{{ l | select('odd') | list }}",
  "{{ 'a' is in ['a'] }}",
  '{{ 3 is divisibleby(3) }}',
  '{{ 1 < 2 < 3 }}',
  "{{ 'a' < 'b' }}",
  "{{ 'a' * 3 }}",
  '{{ l | sum }}',
  '{{ l | max }}',
  '{{ 1.25 | round(1) }}',
  "{{ '<b>' | e }}",
  "{{ 'x'.join(['a', 'b']) }}",
  '{% raw %}{{ x }}{% endraw %}',
  '{% with a = 1 %}{{ a }}{% endwith %}',
  '{{ 1e3 }}',
  '{{ dict(a=1) }}',
]

/** What differs without a word: Python refuses the first, and has tuples in the second. */
const DIFFERENT = new Map([
  ['{{ nothing.x }}', ''],
  ['{{ d | items | list }}', "[['a', '1'], ['b', 2], ['z', None]]"],
])

const render = (template: string) => createPythonTemplate(template, () => new Date(0)).render(values)

const same = snippets.filter(({ template }) => !LACKING.includes(template) && !DIFFERENT.has(template))

it.for(same)('$template is what it is in Python', ({ template, text }) => {
  expect(render(template)).toBe(text)
})

it.for(LACKING)('%s is refused', (template) => {
  expect(snippets.map((snippet) => snippet.template)).toContain(template)
  expect(() => render(template)).toThrow(/./u)
})

it.for([...DIFFERENT])('%s is still something else', ([template, text]) => {
  expect(render(template)).toBe(text)
  expect(snippets.find((snippet) => snippet.template === template)?.text).not.toBe(text)
})

it('tells templates the date in Python’s words', () => {
  const template = createPythonTemplate(
    "{{ strftime_now('%A %a %d %B %b %m %Y %y %H:%M:%S %I %p %%') }}",
    () => {
      return new Date(2030, 0, 2, 15, 4, 5)
    },
  )
  expect(template.render({})).toBe('Wednesday Wed 02 January Jan 01 2030 30 15:04:05 03 PM %')
  expect(() => render("{{ strftime_now('%Q') }}")).toThrow('a date has no %Q')
})

it('leaves alone a template’s own names', () => {
  const template = "{% set text = 'a' %}{% set equal = 1 %}{{ text }}{{ equal }}{{ d.text is defined }}"
  expect(render(template)).toBe('a1False')
})
