import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  ChatMessage,
  ChatRequest,
  EmbeddingRequest,
  GenerationRequest,
} from '#libs/contracts/generation-request.ts'
import { isConstrained, sizeOf } from '#libs/contracts/request-size.ts'
import { textBytes } from '#libs/contracts/text-size.ts'
import { isJsonObject } from '#libs/json-schema/json-schema.ts'

const MARKER = '水'.repeat(1_000)
const MARKER_BYTES = 3_000

/** Returns, for each string of a schema, its path and a value of the schema in which this string is the marker. */
function* markings(schema: z.core.JSONSchema.BaseSchema, path = ''): Generator<[string, unknown]> {
  if (schema.const !== undefined || schema.enum !== undefined) return
  for (const variants of [schema.anyOf, schema.oneOf]) {
    for (const [index, one] of (variants ?? []).entries()) yield* markings(toSchema(one), `${path}|${index}`)
  }
  const types = [schema.type].flat()
  if (types.includes('string')) yield [path, MARKER]
  if (types.includes('array')) {
    for (const [inner, value] of markings(toSchema(schema.items), `${path}[]`)) yield [inner, [value]]
  }
  if (!types.includes('object')) return
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    for (const [inner, value] of markings(toSchema(property), `${path}.${name}`)) {
      yield [inner, { ...sample(schema), [name]: value }]
    }
  }
  if (schema.additionalProperties) {
    yield [`${path}{key}`, { [MARKER]: 1 }]
    yield [`${path}{value}`, { key: { deep: [MARKER] } }]
  }
}

/** Returns a value with the fixed texts and empty values that a schema requires. */
function sample(schema: z.core.JSONSchema.BaseSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      const { const: fixed, enum: options, type } = toSchema(property)
      const value = { string: '', array: [], boolean: true, object: {} }[String(type)]
      const known = fixed ?? options?.[0] ?? value
      return known === undefined ? [] : [[name, known]]
    }),
  )
}

function toSchema(schema: unknown): z.core.JSONSchema.BaseSchema {
  return isJsonObject(schema) ? schema : {}
}

const chat = (more: Partial<ChatRequest> = {}): ChatRequest => ({
  kind: 'chat',
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
  toolChoice: 'auto',
  parallelToolCalls: true,
  outputFormat: { type: 'text' },
  sampling: {},
  stop: [],
  reasoningEffort: 'off',
  ...more,
})

describe('a string of a request', () => {
  const marked = GenerationRequest.options.flatMap((option) => [
    ...markings(z.toJSONSchema(option), option.shape.kind.value),
  ])

  it('is found by the walk of this test in every field that is known to have one', () => {
    const paths = marked.map(([path]) => path.replaceAll(/\|\d/g, ''))
    for (const path of [
      'chat.messages[].content',
      'chat.messages[].reasoning',
      'chat.messages[].toolCallId',
      'chat.messages[].toolCalls[].id',
      'chat.messages[].toolCalls[].name',
      'chat.messages[].toolCalls[].arguments',
      'chat.tools[].name',
      'chat.tools[].description',
      'chat.tools[].parameters{key}',
      'chat.tools[].parameters{value}',
      'chat.toolChoice.name',
      'chat.outputFormat.schema{value}',
      'chat.sampling.logitBias{key}',
      'chat.stop[]',
      'embedding.inputs[]',
    ]) {
      expect(paths).toContain(path)
    }
  })

  it.each(marked)('%s is counted', (_path, request) => {
    // The marker is only counted as text, so it need not match the field's own rules.
    expect(sizeOf(Object.assign(chat(), request)).bytes).toBeGreaterThanOrEqual(MARKER_BYTES)
  })
})

it('a size is that of the text alone: an empty request has none', () => {
  expect(sizeOf({ kind: 'embedding', inputs: [] }).bytes).toBe(0)
  expect(sizeOf(chat({ messages: [] })).bytes).toBe(0)
  const message: ChatMessage = { role: 'user', content: 'hello' }
  expect(sizeOf(chat({ messages: [message] })).bytes).toBe(textBytes([message]))
  expect(EmbeddingRequest.shape.kind.value).toBe('embedding')
})

const schema = { type: 'object', properties: { city: { description: 'x'.repeat(4_000) } } }
const tool = { name: 'f', description: null, parameters: schema }

it('the schema of the answer is not in the prompt, that of a tool is', () => {
  const plain = sizeOf(chat()).promptBytes
  const formatted = sizeOf(chat({ outputFormat: { type: 'json-schema', schema } }))
  expect(formatted.promptBytes - plain).toBeLessThan(100)
  expect(formatted.bytes).toBeGreaterThan(4_000)
  expect(sizeOf(chat({ tools: [tool] })).promptBytes).toBeGreaterThan(4_000)
})

it('every schema that the engine compiles has a price of a token for four characters, and no other has one', () => {
  const priceOf = (more: Partial<ChatRequest>) => sizeOf(chat(more)).grammarTokens
  const one = priceOf({ outputFormat: { type: 'json-schema', schema } })
  expect(one).toBeGreaterThan(1_000)
  expect(one).toBeLessThan(1_100)
  expect(priceOf({ tools: [tool] })).toBe(0)
  expect(priceOf({ tools: [{ ...tool, strict: true }] })).toBe(one)
  expect(priceOf({ tools: [tool, tool], toolChoice: 'required' })).toBeGreaterThanOrEqual(2 * one - 1)
  expect(priceOf({ tools: [tool, { ...tool, name: 'g' }], toolChoice: { name: 'f' } })).toBe(one)
  expect(priceOf({ tools: [tool], outputFormat: { type: 'json-object' } })).toBe(one)
  expect(priceOf({ tools: [{ ...tool, strict: true }], toolChoice: 'none' })).toBe(0)
})

it('large grammars have a name: the same for the same schemas, whatever the rest of the request', () => {
  const grammarOf = (more: Partial<ChatRequest>) => sizeOf(chat(more)).grammar
  const large = { type: 'object', description: 'x'.repeat(10_000) }
  const outputFormat = { type: 'json-schema', schema: large } as const
  const name = grammarOf({ outputFormat })
  expect(name).toMatch(/^[0-9a-f]{64}$/)
  expect(grammarOf({ outputFormat, stop: ['x'] })).toBe(name)
  expect(grammarOf({ outputFormat: { ...outputFormat, schema: { ...large, title: 'y' } } })).not.toBe(name)
  expect(grammarOf({ outputFormat: { type: 'json-schema', schema } })).toBeNull()
  expect(grammarOf({ tools: [{ ...tool, parameters: large }] })).toBeNull()
})

it('a tool is constrained where it is forced or strict, or where the format constrains the output', () => {
  const outputFormat = { type: 'text' } as const
  expect(isConstrained({ name: 'f' }, { toolChoice: 'auto', outputFormat })).toBe(false)
  expect(isConstrained({ name: 'f', strict: true }, { toolChoice: 'auto', outputFormat })).toBe(true)
  expect(isConstrained({ name: 'f' }, { toolChoice: 'required', outputFormat })).toBe(true)
  expect(isConstrained({ name: 'f' }, { toolChoice: { name: 'g' }, outputFormat })).toBe(false)
})
