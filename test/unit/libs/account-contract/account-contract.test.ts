import { expect, test } from 'vitest'
import { ACCOUNT } from '#libs/account-contract/account-contract.ts'
import type { AccountOperation } from '#libs/account-contract/operation.ts'

const OPERATIONS = Object.entries<AccountOperation>(ACCOUNT)

test('no two operations have the same method and path', () => {
  const routes = OPERATIONS.map(([, { method, path }]) => `${method} ${path}`)
  expect(routes.length).toBeGreaterThan(10)
  expect([...new Set(routes)]).toEqual(routes)
})

test.each(OPERATIONS)(
  '%s: its path names its parameters, and its answers are as described',
  (_, operation) => {
    const named = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    expect(named).toEqual(Object.keys(operation.params.shape))
    const examples = Object.values(operation.answered.examples)
    expect(examples).not.toEqual([])
    for (const example of examples) expect(operation.answer.parse(example)).toEqual(example)
  },
)

/** Requests whose values the schemas change. */
const CHANGED = [
  [ACCOUNT.readAccountKey.params, { id: '8A3A1F9C-1F55-4C0E-8F6E-6D8A2B1C9E77' }],
  [ACCOUNT.readGeneration.query, { id: 'chatcmpl-01A1FF19-4BD8-7C31-9A55-0242AC120002' }],
  [ACCOUNT.listKeys.query, { limit: '5' }],
  [ACCOUNT.listGenerations.query, {}],
  [ACCOUNT.createKey.body, { name: ' a ', expires_at: '2030-01-01T02:00:00+02:00', models: ['a'] }],
  ...OPERATIONS.flatMap(([, { body, sent }]) =>
    Object.values(sent?.examples ?? {}).map((example) => [body, example] as const),
  ),
] as const

test.each(CHANGED)('billing parses request %# as the gateway has parsed it', (schema, given) => {
  const parsed = schema.parse(given)
  expect(schema.parse(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed)
})
