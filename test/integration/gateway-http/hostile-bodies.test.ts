import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cpuMs } from '#test/support/cpu-time.ts'
import { always, AUTHORIZED, CHAT, createFedCore, END, MODEL, serveApp, text } from './gateway-app.ts'

const core = always([text('Hi'), END])

type Answer = { status: number; body: { error?: { code: string; message: string; param?: string } } }

/** Sends a body to an app, then an ordinary one, which the app must still answer. */
async function serveHostile() {
  const { url, chat } = await serveApp(core)
  return async (body: string | object, path = '/chat/completions'): Promise<Answer> => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: AUTHORIZED,
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const answer = { status: response.status, body: JSON.parse(await response.text()) }
    expect((await chat(CHAT)).status).toBe(200)
    return answer
  }
}

/** Returns a chat body with additional members, as JSON text. */
const withMembers = (members: string) => `${JSON.stringify(CHAT).slice(0, -1)},${members}}`

const withSchema = (schema: string) =>
  withMembers(`"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`)

const withTool = (parameters: string) =>
  withMembers(`"tools":[{"type":"function","function":{"name":"f","parameters":${parameters}}}]`)

describe('200,000 brackets', () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000)
  const deepObject = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`

  it.each([
    ['alone', deep],
    ['that never close', '['.repeat(200_000)],
    ['in a field that is ignored', withMembers(`"ignored":${deep}`)],
    ['in metadata', withMembers(`"metadata":${deepObject}`)],
    ['in messages', `{"model":"${MODEL}","messages":${deep}}`],
    ['in a schema', withSchema(deepObject)],
    ['in a tool', withTool(`{"type":"object","properties":${deepObject}}`)],
  ])('%s are refused', async (...[, body]) => {
    const post = await serveHostile()
    expect(await post(body)).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
  })

  it('in a string are text', async () => {
    const post = await serveHostile()
    const messages = [{ role: 'user', content: deep }]
    expect((await post({ ...CHAT, messages })).status).toBe(200)
  })

  it('of fewer levels than a body may have, but more than a schema may, are refused by the schema’s field', async () => {
    const post = await serveHostile()
    const schema = `${'{"items":'.repeat(150)}{}${'}'.repeat(150)}`
    expect((await post(withSchema(schema))).body.error?.param).toMatch(/^response_format/)
    expect((await post(withTool(schema))).body.error?.param).toMatch(/^tools\[0\]/)
  })
})

describe('numbers', () => {
  const huge = '9'.repeat(400)

  it.each([
    ['"temperature":1e999', 'temperature'],
    ['"temperature":-1e999', 'temperature'],
    [`"max_tokens":${huge}`, 'max_tokens'],
    ['"max_tokens":-0', 'max_tokens'],
    ['"max_tokens":1e-400', 'max_tokens'],
    [`"seed":${huge}`, 'seed'],
    ['"seed":1e999', 'seed'],
    ['"top_k":1e300', 'top_k'],
    ['"logit_bias":{"5":1e999}', 'logit_bias'],
    [`"logit_bias":{"${huge}":1}`, 'logit_bias'],
  ])('out of all bounds are refused by name: %s', async (member, param) => {
    const post = await serveHostile()
    const { status, body } = await post(withMembers(member))
    expect(status).toBe(400)
    expect(body.error?.param).toMatch(new RegExp(`^${param}`, 'u'))
  })

  it.each([
    '"temperature":-0',
    '"temperature":0.0000000000000000000000000000000000000000000000000001e52',
    `"ignored":${huge}`,
    '"ignored":1e999',
  ])('that only look strange are taken: %s', async (member) => {
    const post = await serveHostile()
    expect((await post(withMembers(member))).status).toBe(200)
  })
})

describe('text', () => {
  it('of lone surrogates becomes U+FFFD, in keys as well, and pairs stay', async () => {
    const { generate, nextCall, feed } = createFedCore()
    const { url } = await serveApp(generate)
    const arrives = nextCall()
    const answer = fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: AUTHORIZED,
      body: String.raw`{"model":"${MODEL}","stop":["\uDBFF"],
        "messages":[{"role":"user","content":"a\ud800b\uDC00c\uD83D\ude00\\ud800\ud83d\ud83d\ude00"}],
        "tools":[{"type":"function","function":{"name":"f\uD800","parameters":{"\uDFFF":1}}}]}`,
    })
    const { request } = await arrives
    expect(request).toMatchObject({
      messages: [{ content: String.raw`a�b�c😀\ud800�😀` }],
      tools: [{ name: 'f�', parameters: { '�': 1 } }],
      stop: ['�'],
    })
    feed([END])
    expect((await answer).status).toBe(200)
  })

  it.each(['\0', '\u{1F468}\u200D\u{1F469}', '\uFEFF', '\u202E', '\uFFFF\uFDD0', '\u2028'])(
    'of %j arrives as it is',
    async (content) => {
      const { generate, nextCall, feed } = createFedCore()
      const { chat } = await serveApp(generate)
      const arrives = nextCall()
      const answer = chat({ ...CHAT, messages: [{ role: 'user', content }] })
      expect((await arrives).request).toMatchObject({ messages: [{ content }] })
      feed([END])
      expect((await answer).status).toBe(200)
    },
  )

  it.each(['c0 80', 'ed a0 80', 'ff', 'f4 90 80 80', 'e2 82'])(
    'of bytes %s, no UTF-8, is refused',
    async (hex) => {
      const { url } = await serveApp(core)
      const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex')
      const [before = '', after = ''] = JSON.stringify({ ...CHAT, user: 'X' }).split('X')
      const body = Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)])
      const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers: AUTHORIZED, body })
      expect(response.status).toBe(400)
    },
  )
})

describe('too much of it', () => {
  const many = (count: number, item: object) => Array.from({ length: count }, () => item)

  it.each([
    ['100,000 messages', () => ({ ...CHAT, messages: many(100_000, { role: 'user', content: 'x' }) })],
    ['400,000 messages', () => ({ ...CHAT, messages: many(400_000, { role: 'user' }) })],
    ['a prompt of 31 MiB', () => ({ ...CHAT, messages: [{ role: 'user', content: 'x'.repeat(31 << 20) }] })],
    [
      '10,000 tools',
      () => ({ ...CHAT, tools: many(10_000, { type: 'function', function: { name: 'f', parameters: {} } }) }),
    ],
    [
      '100,000 parts of content',
      () => ({
        ...CHAT,
        messages: [{ role: 'user', content: many(100_000, { type: 'text', text: 'x'.repeat(100) }) }],
      }),
    ],
    ['a million values', () => withMembers(`"ignored":[${'1,'.repeat(1_000_000)}1]`)],
  ])('%s are refused', async (...[, body]) => {
    const post = await serveHostile()
    expect(await post(body())).toMatchObject({
      status: 400,
      body: { error: { code: expect.stringMatching(/^(?:invalid_request|context_length_exceeded)$/) } },
    })
  })

  it('7,000 tools are accepted by a model whose context window has room for them', async () => {
    const post = await serveHostile()
    const tools = many(7_000, { type: 'function', function: { name: 'f', parameters: { type: 'object' } } })
    expect((await post({ ...CHAT, tools })).status).toBe(200)
  })
})

describe('names that every object has', () => {
  const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', 'valueOf']

  it.each(NAMES)('%s is a field like any other', async (name) => {
    const post = await serveHostile()
    expect((await post(withMembers(`"${name}":{"model":"x","temperature":9}`))).status).toBe(200)
    expect((await post(`{"${name}":{"model":"${MODEL}","messages":[]}}`)).status).toBe(400)
    expect((await post(withMembers(`"metadata":{"${name}":"x"}`))).status).toBe(200)
    expect((await post(withTool(`{"type":"object","properties":{"${name}":{}}}`))).status).toBe(200)
    expect(
      (await post(withMembers(`"tools":[{"type":"function","function":{"name":"${name}"}}]`))).status,
    ).toBe(200)
    // The schema parser drops the first of these names from records.
    expect((await post(withMembers(`"logit_bias":{"${name}":1}`))).status).toBe(
      name === '__proto__' ? 200 : 400,
    )
    expect((await post({ ...CHAT, model: name })).status).toBe(404)
    expect((await post({ ...CHAT, reasoning_effort: name })).status).toBe(400)
    expect((await post({ ...CHAT, messages: [{ role: name, content: 'x' }] })).status).toBe(400)
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('model')
  })

  it('that come twice have their last value', async () => {
    const post = await serveHostile()
    expect((await post(withMembers('"model":"nope"'))).status).toBe(404)
  })
})

describe('a schema', () => {
  it.each([
    [
      'a pattern that takes for ever',
      '{"type":"string","pattern":"^(a+)+$","default":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}',
    ],
    [
      'a pattern of nested counts',
      `{"type":"string","pattern":"${'('.repeat(50)}a${'{1,1000})'.repeat(50)}"}`,
    ],
    ['a pattern of names', `{"patternProperties":{"^(([a-z])+.)+[A-Z]([a-z])+$":{}}}`],
    ['a reference to itself', '{"$ref":"#"}'],
    [
      'references in a circle',
      '{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}',
    ],
    ['itself inside itself', '{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}'],
    ['itself in all of itself', '{"allOf":[{"$ref":"#"},{"$ref":"#"}]}'],
    ['a reference to elsewhere', '{"$ref":"http://127.0.0.1:1/schema"}'],
    ['a reference to a file', '{"$ref":"file:///etc/passwd"}'],
    ['a dynamic reference', '{"$dynamicAnchor":"a","$dynamicRef":"#a"}'],
    ['another meta-schema', '{"$schema":"http://127.0.0.1:1/meta"}'],
    [
      'definitions that double fifty times',
      `{"$defs":{"d0":{"type":"string"},${Array.from({ length: 50 }, (_, i) => `"d${i + 1}":{"allOf":[{"$ref":"#/$defs/d${i}"},{"$ref":"#/$defs/d${i}"}]}`).join(',')}},"$ref":"#/$defs/d50"}`,
    ],
    ['100,000 values', `{"enum":[${Array.from({ length: 100_000 }, (_, i) => i).join(',')}]}`],
    [
      '20,000 properties',
      `{"properties":{${Array.from({ length: 20_000 }, (_, i) => `"p${i}":{}`).join(',')}}}`,
    ],
    ['numbers beyond all numbers', '{"minimum":1e999,"maxLength":1e300,"multipleOf":1e-400}'],
  ])('with %s is answered soon, as a schema or as none', async (...[, schema]) => {
    const post = await serveHostile()
    const startedMs = cpuMs()
    for (const body of [
      withSchema(schema),
      `${withTool(schema).slice(0, -1)},"tool_choice":"required"}`,
      withTool(schema),
    ]) {
      expect([200, 400]).toContain((await post(body)).status)
    }
    expect(cpuMs() - startedMs).toBeLessThan(10_000)
  })
})

describe('any JSON at all', () => {
  const strange = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc.constantFrom(1e308, -1, 0, '', '\uD800', null, [], {}, [[]], true),
  )
  const field = fc.constantFrom(
    'messages',
    'input',
    'prompt',
    'tools',
    'tool_choice',
    'response_format',
    'text',
    'stop',
    'seed',
    'temperature',
    'logit_bias',
    'max_tokens',
    'stream_options',
    'metadata',
    'reasoning',
    'dimensions',
    'encoding_format',
    'include',
    'instructions',
    'system',
    'thinking',
    'output_config',
    'stop_sequences',
  )

  it.each(['/chat/completions', '/responses', '/completions', '/messages', '/embeddings'])(
    'is answered or refused on %s, and never a failure of ours',
    async (path) => {
      const { url } = await serveApp(core)
      const model = path === '/embeddings' ? 'vectors' : MODEL
      const required = { messages: CHAT.messages, max_tokens: 16, input: 'x', prompt: 'x' }
      await fc.assert(
        fc.asyncProperty(fc.dictionary(field, strange, { maxKeys: 3 }), async (fields) => {
          const body = JSON.stringify({ model, ...required, ...fields })
          const response = await fetch(url + path, { method: 'POST', headers: AUTHORIZED, body })
          await response.text()
          // The core of this test yields no vectors, which the route of embeddings reports as a failure.
          const allowed = path === '/embeddings' ? [200, 400, 503] : [200, 400]
          expect(allowed).toContain(response.status)
        }),
        { numRuns: 300 },
      )
    },
  )
})
