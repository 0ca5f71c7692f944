import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ChatBody } from '#apps/gateway/endpoints/chat-completions/chat-body.ts'
import { CompletionBody } from '#apps/gateway/endpoints/completions/completion-body.ts'
import { EmbeddingBody } from '#apps/gateway/endpoints/embeddings/embedding-body.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { ResponsesBody } from '#apps/gateway/endpoints/responses/responses-body.ts'
import { ACCOUNT } from '#libs/account-contract/account-contract.ts'

describe('a list', () => {
  it('is read up to its first wrong entry, which is the only issue', () => {
    const read: unknown[] = []
    const Entry = z.unknown().refine((value) => read.push(value) > 0 && value === 1, 'expected 1')
    const list = listOf(Entry, { expected: 'expected a list' })
    const result = list.safeParse([1, 1, 2, 1, 2, 2])
    expect(result.error?.issues).toMatchObject([{ path: [2], message: 'expected 1' }])
    expect(read).toEqual([1, 1, 2])
    expect(list.parse([1, 1])).toEqual([1, 1])
  })

  it('names the place within an entry', () => {
    const list = listOf(z.object({ name: z.string('expected text') }), { expected: 'expected a list' })
    const result = z.object({ outer: list }).safeParse({ outer: [{ name: 'a' }, { name: 5 }] })
    expect(result.error?.issues).toMatchObject([{ path: ['outer', 1, 'name'], message: 'expected text' }])
  })

  it('is counted before its entries are read', () => {
    const list = listOf(z.never(), {
      expected: 'expected a list',
      least: [1, 'expected one'],
      most: [2, 'expected two'],
    })
    const messageOf = (value: unknown) => list.safeParse(value).error?.issues[0]?.message
    expect(messageOf([])).toBe('expected one')
    expect(messageOf([1, 2, 3])).toBe('expected two')
    expect(messageOf({})).toBe('expected a list')
  })

  it('is described as a list of its entries', () => {
    const list = listOf(z.string(), { expected: '', least: [1, ''], most: [4, ''] })
    expect(z.toJSONSchema(list, { io: 'input' })).toMatchObject({
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: 4,
    })
  })
})

// A list or record that is not one of ours makes an issue for each wrong entry.
describe('of each list and record that a body may have, as the description shows them, a thousand wrong entries', () => {
  const bodies = {
    ChatBody,
    ResponsesBody,
    CompletionBody,
    EmbeddingBody,
    NewKeyBody: ACCOUNT.createKey.body,
    KeyChangeBody: ACCOUNT.changeKey.body,
    RotationBody: ACCOUNT.rotateKey.body,
  }
  const lists = Object.entries(bodies).flatMap(([name, body]) =>
    findLists(Node.parse(z.toJSONSchema(body, { io: 'input' }))).map((list) => ({ ...list, name, body })),
  )

  it('are found', () => {
    const found = new Set(lists.map(({ name, path }) => `${name} ${path}`))
    for (const one of [
      'ChatBody messages',
      'ChatBody messages.0.content',
      'ChatBody messages.0.tool_calls',
      'ChatBody tools',
      'ChatBody stop',
      'ChatBody logit_bias',
      'ResponsesBody input',
      'ResponsesBody input.0.content',
      'ResponsesBody input.0.summary',
      'ResponsesBody metadata',
      'CompletionBody prompt',
      'EmbeddingBody input',
      'NewKeyBody models',
    ])
      expect(found).toContain(one)
  })

  it.each(lists)('$name: $path', ({ body, path, wrong }) => {
    const issues: readonly z.core.$ZodIssue[] = body.safeParse(wrong).error?.issues ?? []
    expect(issues.some((issue) => isOnTheWay(issue.path.join('.'), path))).toBe(true)
    expect(countIssues(issues)).toBeLessThan(20)
  })
})

const Node = z.looseObject({
  type: z.unknown().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  get anyOf() {
    return z.array(Node).optional()
  },
  get oneOf() {
    return z.array(Node).optional()
  },
  get items() {
    return Node.optional()
  },
  get properties() {
    return z.record(z.string(), Node).optional()
  },
  required: z.array(z.string()).optional(),
  additionalProperties: z.unknown().optional(),
})
type Node = z.infer<typeof Node>

type List = { readonly path: string; readonly wrong: unknown }

/** A value that no field takes. */
const WRONG: unknown[] = [[]]

/** Returns every list and record below a node, each with a complete value in which all of its entries are wrong. */
function findLists(node: Node, path: readonly string[] = [], wrap = (value: unknown) => value): List[] {
  const alternatives = [...(node.anyOf ?? []), ...(node.oneOf ?? [])]
  const found = alternatives.flatMap((one) => findLists(one, path, wrap))
  const name = path.join('.')
  if (node.type === 'array' && node.items !== undefined && Object.keys(node.items).length > 0) {
    found.push({ path: name, wrong: wrap(Array.from({ length: 1_000 }, () => WRONG)) })
    found.push(...findLists(node.items, [...path, '0'], (value) => wrap([value])))
  }
  if (isTyped(node.additionalProperties)) {
    const names = Array.from({ length: 1_000 }, (_, index) => [String(index), WRONG])
    found.push({ path: name, wrong: wrap(Object.fromEntries(names)) })
  }
  for (const [key, property] of Object.entries(node.properties ?? {})) {
    found.push(
      ...findLists(property, [...path, key], (value) => wrap({ ...Object(smallest(node)), [key]: value })),
    )
  }
  return found
}

function isTyped(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && Object.keys(schema).length > 0
}

/** Returns a valid value of the node that has only the required fields. */
function smallest(node: Node): unknown {
  if (node.const !== undefined) return node.const
  if (node.enum !== undefined) return node.enum[0]
  if (node.properties !== undefined) {
    const required = (node.required ?? []).map((key) => [key, smallest(node.properties?.[key] ?? node)])
    return Object.fromEntries(required)
  }
  const [first] = [...(node.anyOf ?? []), ...(node.oneOf ?? [])]
  if (first !== undefined) return smallest(first)
  if (node.type === 'array') return node.items === undefined ? [] : [smallest(node.items)]
  if (node.type === 'string') return 'x'
  return node.type === 'boolean' ? true : 1
}

function isOnTheWay(issue: string, list: string): boolean {
  return issue !== '' && (list.startsWith(issue) || issue.startsWith(list))
}

/** Counts issues, including issues within unions and within names. */
function countIssues(issues: readonly z.core.$ZodIssue[]): number {
  let count = issues.length
  for (const issue of issues) {
    if (issue.code === 'invalid_union') for (const inner of issue.errors) count += countIssues(inner)
    if (issue.code === 'invalid_key' || issue.code === 'invalid_element') count += countIssues(issue.issues)
  }
  return count
}
