import { expect, it } from 'vitest'
import type { CatalogModel } from '#apps/gateway/catalog.ts'
import { createAnswer } from '#test/support/answer.ts'
import { createResponseEvents } from '#apps/gateway/endpoints/responses/to-events.ts'
import { toObject } from '#apps/gateway/endpoints/responses/to-object.ts'
import { collect } from '#apps/gateway/generation/output/collect.ts'
import type { OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import { end, read } from '../responses/rendered-stream.ts'
import { prepare, refusal } from '../responses/responses-answer.ts'

const f = (name: string) => ({ type: 'function', name })
const space = (name: string, ...tools: object[]) => ({ type: 'namespace', name, description: 'd', tools })
const harbour = space('mcp__harbour', f('tide'), { type: 'function', function: { name: 'map' } })
const long = 'n'.repeat(256)
const namesOf = (body: object) => prepare({ ...body }).request.tools.map(({ name }) => name)

it.each<[string, object[], string[]]>([
  ['beside others', [f('a'), harbour], ['a', 'mcp__harbour__tide', 'mcp__harbour__map']],
  ['alike in two name spaces', [space('a', f('x')), space('b', f('x'))], ['a__x', 'b__x']],
  [
    'whose names collide',
    [f('a__b__c'), space('a', f('b__c')), space('a__b', f('c'))],
    ['a__b__c', 'a__b__c_2', 'a__b__c_3'],
  ],
  ['of a name space in another', [space('a', space('b', f('c')))], ['a__b__c']],
  ['with long names', [space(long, f(long))], [`${long}__${long}`]],
  ['beside tools of other types', [space('a', { type: 'custom', name: 'c' }, f('x'))], ['a__x']],
])('functions %s are offered', (_, tools, names) => {
  expect(namesOf({ tools })).toEqual(names)
})

it('a name that the model cannot write is refused with its place', () => {
  const model: Partial<CatalogModel> = { callFormat: 'qwen3-coder' }
  const refused = refusal('tools[0].tools[0].name', 'a b__x')
  expect(() => prepare({ tools: [space('a b', f('x'))] }, model)).toThrow(refused)
})

const tools = [harbour, space('x', f('tide'), f('only'))]

it.each<[object, unknown]>([
  [{ type: 'function', name: 'tide', namespace: 'x' }, { name: 'x__tide' }],
  [{ type: 'function', name: 'mcp__harbour__tide' }, { name: 'mcp__harbour__tide' }],
  [{ type: 'function', name: 'only' }, { name: 'x__only' }],
])('the choice %j is read as %j', (tool_choice, expected) => {
  expect(prepare({ tools, tool_choice }).request.toolChoice).toEqual(expected)
})

it.each([[{ type: 'function', name: 'tide' }], [{ type: 'function', name: 'only', namespace: 'y' }]])(
  'the choice %j is refused',
  (tool_choice) => {
    expect(() => prepare({ tools, tool_choice })).toThrow(refusal('tool_choice', 'is offered'))
  },
)

it('a whole name space or one of its functions may be allowed', () => {
  const allow = (...allowed: object[]) =>
    namesOf({ tools, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: allowed } })
  expect(allow({ type: 'namespace', name: 'x' })).toEqual(['x__tide', 'x__only'])
  expect(allow({ type: 'function', name: 'map', namespace: 'mcp__harbour' })).toEqual(['mcp__harbour__map'])
})

it('the history has the names that the model sees, and what a search has found is offered', () => {
  const input = [
    { type: 'function_call', call_id: 'c', namespace: 'a__b', name: 'c', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'd', namespace: 'gone', name: 'x', input: '' },
    { type: 'tool_search_call', call_id: null, execution: 'server', arguments: { query: 'tide' } },
    { type: 'tool_search_output', call_id: null, execution: 'server', tools: [harbour, f('a'), f('plain')] },
  ]
  const { messages, tools: offered } = prepare({
    input,
    tools: [f('a'), f('a__b__c'), space('a__b', f('c'))],
  }).request
  expect(messages).toEqual([
    expect.objectContaining({
      toolCalls: [
        { id: 'c', name: 'a__b__c_2', arguments: '{}' },
        { id: 'd', name: 'gone__x', arguments: '{"input":""}' },
        { id: '', name: 'tool_search', arguments: '{"query":"tide"}' },
      ],
    }),
    {
      role: 'tool',
      toolCallId: '',
      content: ['mcp__harbour__tide', 'mcp__harbour__map', 'a', 'plain']
        .map((name) => `${name} is available`)
        .join('\n'),
    },
  ])
  expect(offered.map(({ name }) => name)).toEqual([
    'a',
    'a__b__c',
    'a__b__c_2',
    'mcp__harbour__tide',
    'mcp__harbour__map',
    'plain',
  ])
})

it.each(['full', 'spec'])(
  'an item has its own name and its name space in every event: %s',
  async (eventSet) => {
    const { options } = prepare({ tools })
    const headers = { 'x-responses-events': eventSet }
    const answer = createAnswer({ id: 'x', model: 'm', options, headers })
    const batch: OutputEvent[] = [
      { type: 'tool-call-start', index: 0, id: 'c', name: 'x__tide' },
      { type: 'tool-call-delta', index: 0, text: '{}' },
      end('tool-calls'),
    ]
    const called = { type: 'function_call', name: 'tide', namespace: 'x', arguments: '{}' }
    const events = read(createResponseEvents(answer).render(batch))
    const items = events.flatMap(({ item, response }) => [
      ...(item ? [item] : []),
      ...(response?.output ?? []),
    ])
    expect(items).toHaveLength(eventSet === 'full' ? 3 : 2)
    for (const item of items) expect(item).toMatchObject({ ...called, arguments: expect.any(String) })
    const finished = await collect(async (send) => send(batch))
    expect(JSON.parse(toObject(finished, answer))).toMatchObject({ output: [called] })
  },
)
