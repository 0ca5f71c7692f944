import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createPythonTemplate } from '#libs/chat-template/python/python-template.ts'

const { values, snippets } = z
  .object({
    values: z.record(z.string(), z.unknown()),
    snippets: z.array(z.object({ template: z.string(), text: z.string().nullable() })).min(40),
  })
  .parse(JSON.parse(readFileSync('test/fixtures/chat-template/template-snippets.json', 'utf8')))

/** Constructs that Python renders and the Jinja library lacks: a template with one is refused. */
const LACKING = [
  '{{ (1,) }}',
  "{{ '%5.2f' % 1.5 }}",
  "{{ '{:>5}'.format(1) }}",
  "{{ 'a' is in ['a'] }}",
  '{{ 3 is divisibleby(3) }}',
  '{{ 1 < 2 < 3 }}',
  "{{ 'a' * 3 }}",
  '{{ l | sum }}',
  '{{ l | max }}',
  '{{ l | min }}',
  '{{ 1.25 | round(1) }}',
  "{{ '<b>' | e }}",
  "{{ 'x'.join(['a', 'b']) }}",
  '{% raw %}{{ x }}{% endraw %}',
  '{% with a = 1 %}{{ a }}{% endwith %}',
  '{{ 1e3 }}',
  '{{ dict(a=1) }}',
]

/** Constructs that render differently without an error. */
const DIFFERENT = new Map([
  ['{{ nothing.x }}', ''],
  ['{{ d | items | list }}', "[['a', '1'], ['b', 2], ['z', None]]"],
  ['{{ nothing | tojson }}', 'null'],
  [`{{ 'a' | safe + '"' }}`, 'a"'],
  ["{{ ['b', 'B'] | unique | list }}", "['b', 'B']"],
  ['{% macro f() %}{{ x }}{% endmacro %}{% for x in l %}{{ f() }}{% endfor %}', '123'],
  ['{% for i in l %}{{ i }}{% break %}{% else %}e{% endfor %}', '1'],
  ['{% for i in l %}{{ i }}{% for j in [] %}{% else %}{% break %}{% endfor %}{% endfor %}', ''],
  ['{% set x %}{% set y = 1 %}{% endset %}{{ y }}', '1'],
])

const render = (template: string) => createPythonTemplate(template, () => new Date(0)).render(values)

const agreed = snippets.filter(({ template }) => !LACKING.includes(template) && !DIFFERENT.has(template))
const rendered = agreed.filter(({ text }) => text !== null)
const refused = agreed.filter(({ text }) => text === null)

it.for(rendered)('$template renders as in Python', ({ template, text }) => {
  expect(render(template)).toBe(text)
})

it.for(refused)('$template is refused, as in Python', ({ template }) => {
  expect(() => render(template)).toThrow(/./u)
})

it.for(LACKING)('%s is refused', (template) => {
  expect(snippets.find((snippet) => snippet.template === template)?.text).toEqual(expect.any(String))
  expect(() => render(template)).toThrow(/./u)
})

it.for([...DIFFERENT])('%s still renders differently', ([template, text]) => {
  expect(render(template)).toBe(text)
  expect(snippets.find((snippet) => snippet.template === template)?.text).not.toBe(text)
})

it('writes dates as Python’s strftime does', () => {
  const template = createPythonTemplate(
    "{{ strftime_now('%A %a %d %B %b %m %Y %y %H:%M:%S %I %p %%') }}",
    () => {
      return new Date(2030, 0, 2, 15, 4, 5)
    },
  )
  expect(template.render({})).toBe('Wednesday Wed 02 January Jan 01 2030 30 15:04:05 03 PM %')
  expect(() => render("{{ strftime_now('%Q') }}")).toThrow('the date field %Q is not supported')
})

it('knows no names of JavaScript', () => {
  const names = ['constructor', 'valueOf', '__proto__', 'toString']
  const template = names.map((name) => `{{ ${name} is defined }}{{ ${name} }}`).join(' ')
  expect(render(template)).toBe('False False False False')
})

it('leaves a template’s own names unchanged', () => {
  const template = "{% set text = 'a' %}{% set equal = 1 %}{{ text }}{{ equal }}{{ d.text is defined }}"
  expect(render(template)).toBe('a1False')
})
