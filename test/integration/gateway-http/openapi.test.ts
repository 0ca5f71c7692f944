import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { API_ERRORS, ApiError } from '#libs/contracts/api-error.ts'
import type { Generate, OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import { describeInterface } from '#apps/gateway/openapi/describe-interface.ts'
import { createConformance } from '#test/support/openapi-conformance.ts'
import { findOpenApiProblems } from '#test/support/openapi-problems.ts'
import { mayWait, OPERATIONS, runs } from './openapi-operations.ts'
import { SETTLED_ID } from './own-account.ts'
import { always, AUTHORIZED, END, failing, MANAGES, MODEL, serveApp, text, USAGE } from './gateway-app.ts'

const document = describeInterface()
const conformance = createConformance(document)

const ERROR_CODES = [
  'context_length_exceeded',
  'insufficient_credits',
  'model_busy',
  'model_warming',
  'upstream_error',
  'model_unavailable',
] as const

test('the description is public, and valid by the meta-schema of OpenAPI 3.1', async () => {
  const { url } = await serveApp(always([END]))
  const response = await fetch(new URL('/openapi.json', url))
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  const served: unknown = await response.json()
  expect(served).toEqual(document)
  expect(served).toMatchObject({ openapi: '3.1.0', info: { version: '1.0.0' } })
  expect(findOpenApiProblems(served)).toBeNull()
  // The check includes the document's schemas.
  const broken = { ...document, components: { schemas: { Broken: { minLength: 'short' } } } }
  expect(findOpenApiProblems(broken)).toMatchObject([{ message: 'must be integer' }])
})

type Ask = {
  path?: string
  method?: string | undefined
  body?: unknown
  headers?: Record<string, string>
  bodyBytes?: number
  takesWork?: boolean
}

const keyOf = (operationId: string) => (OPERATIONS[operationId]?.manages ? MANAGES : AUTHORIZED)

/** Calls an operation of an app with this core. The fields of `ask` replace fields of the usual request. */
async function answerOf(operationId: string, core: Generate, ask: Ask = {}): Promise<Response> {
  const { path, method, body } = { ...OPERATIONS[operationId], ...ask }
  const limits = ask.bodyBytes === undefined ? {} : { bodyBytes: ask.bodyBytes }
  const { url } = await serveApp(core, limits, { takesWork: () => ask.takesWork !== false })
  return await fetch(new URL(path ?? '', url), {
    headers: ask.headers ?? { ...keyOf(operationId), 'x-request-id': 'mine' },
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const REASONED: OutputEvent[][] = [
  [{ type: 'reasoning-delta', text: 'hm' }],
  [text('Hel'), text('lo')],
  [END],
]
const CALLED: OutputEvent[][] = [
  [
    { type: 'tool-call-start', index: 0, id: 'call_0', name: 'f' },
    { type: 'tool-call-delta', index: 0, text: '{}' },
  ],
  [{ type: 'generation-end', finishReason: 'tool-calls', usage: USAGE }],
]
/** A core that returns a vector for every input. */
const embedding: Generate = async ({ request, onVectors }, send) => {
  if (request.kind === 'embedding') onVectors?.(request.inputs.map(() => new Float32Array(8).fill(0.5)))
  send([END])
}
const CUT: OutputEvent[][] = [[text('a')], [{ type: 'generation-end', finishReason: 'length', usage: USAGE }]]

/** The operations that can answer with a stream. */
const generations = [...conformance.operations]
  .filter(([, { responses }]) => responses['200']?.content['text/event-stream'] !== undefined)
  .map(([operationId]) => operationId)

test('every operation of the description is called here', () => {
  expect([...conformance.operations.keys()].toSorted()).toEqual(Object.keys(OPERATIONS).toSorted())
})

describe('an answer is as described', () => {
  it.each(generations)('of %s, whole and streamed', async (operationId) => {
    const { body } = OPERATIONS[operationId] ?? {}
    for (const batches of [REASONED, CALLED, CUT]) {
      for (const more of [{}, { stream: true }, { stream: true, stream_options: { include_usage: true } }]) {
        const response = await answerOf(operationId, always(...batches), { body: { ...body, ...more } })
        expect(response.status).toBe(200)
        await conformance.assertAnswer(operationId, response)
      }
    }
  })

  it.each(generations)('of %s whose stream fails in the middle', async (operationId) => {
    const core = failing(new ApiError('upstream_error', 'Lost.'), [text('a')])
    const { body } = OPERATIONS[operationId] ?? {}
    const response = await answerOf(operationId, core, { body: { ...body, stream: true } })
    expect(await conformance.assertAnswer(operationId, response)).toContain('Lost.')
  })

  it.each(Object.keys(OPERATIONS).filter(mayWait))('of %s that waited for its model', async (operationId) => {
    for (const core of [embedding, failing(new ApiError('model_warming', 'Not started.'))]) {
      const response = await answerOf(operationId, async (call, send) => {
        call.onStartWait?.({ limitS: 60, expectedMs: () => 5_000 })
        await core(call, send)
      })
      expect(response.headers.get('preference-applied')).toBe('wait=60')
      await conformance.assertAnswer(operationId, response)
    }
  })

  it.each(['spec', 'full'])('of createResponse with the events %s', async (events) => {
    for (const batches of [REASONED, CALLED, CUT]) {
      const response = await answerOf('createResponse', always(...batches), {
        body: { model: MODEL, input: 'Hi', stream: true },
        headers: { ...AUTHORIZED, 'x-responses-events': events },
      })
      expect(response.headers.get('x-responses-events')).toBe(events)
      await conformance.assertAnswer('createResponse', response)
    }
  })

  it.each(['float', 'base64'])('of createEmbedding as %s', async (encoding) => {
    const { body } = OPERATIONS['createEmbedding'] ?? {}
    const response = await answerOf('createEmbedding', embedding, {
      body: { ...body, encoding_format: encoding },
    })
    expect(response.status).toBe(200)
    await conformance.assertAnswer('createEmbedding', response)
  })

  it.each([
    'readHealth',
    'listModels',
    'retrieveModel',
    'readKey',
    'readCredits',
    'readGeneration',
    'listGenerations',
    'readActivity',
    'listKeys',
    'createKey',
    'readAccountKey',
    'changeKey',
    'revokeKey',
    'rotateKey',
  ])('of %s', async (operationId) => {
    const response = await answerOf(operationId, always([END]))
    expect(response.status).toBe(['createKey', 'rotateKey'].includes(operationId) ? 201 : 200)
    await conformance.assertAnswer(operationId, response)
  })
})

/** Every row of the error table that the description lists for an operation; its examples name the rows. */
const rows = [...conformance.operations].flatMap(([operationId, { responses }]) =>
  Object.entries(responses)
    .filter(([status]) => !status.startsWith('2'))
    .flatMap(([status, { content }]) =>
      Object.keys(content['application/json']?.examples ?? {}).map((code) => ({ operationId, status, code })),
    )
    // Operations share the description of a status. But reads are not refused while a model starts, and have no prompt.
    .filter(({ code }) => !['model_warming', 'context_length_exceeded'].includes(code) || runs(operationId)),
)

test('the rows are those of the error table', () => {
  const documented = new Set(rows.map(({ status, code }) => `${status} ${code}`))
  const table = Object.entries(API_ERRORS).filter(([code]) => code !== 'unknown_operation')
  expect([...documented].toSorted()).toEqual(
    table.map(([code, { status }]) => `${status} ${code}`).toSorted(),
  )
})

it.each(rows)('a refusal by $operationId with $status $code is as described', async (row) => {
  const response = await refusalOf(row)
  expect(response.status).toBe(Number(row.status))
  const body = await conformance.assertAnswer(row.operationId, response)
  const isUnnamed = ['request_too_large', 'generation_not_found', 'key_not_found', 'key_conflict'].includes(
    row.code,
  )
  expect(body).toContain(`"code":"${isUnnamed ? 'invalid_request' : row.code}"`)
})

const MANAGES_MINE = { ...MANAGES, 'x-request-id': 'mine' }

const INVALID_PATHS: Record<string, string> = {
  readGeneration: '/v1/generation',
  listGenerations: '/v1/generations?limit=0',
  readActivity: '/v1/activity?from=x',
  listKeys: '/v1/keys?limit=0',
}

/** Repeats an operation until its key has read too often, and returns that answer. */
async function untilBusy(operationId: string): Promise<Response> {
  const { url } = await serveApp(always([END]))
  const { path = '', method = 'GET', body } = OPERATIONS[operationId] ?? {}
  const headers = { ...keyOf(operationId), 'x-request-id': 'mine' }
  const get = async (path: string) => await fetch(new URL(path, url), { headers })
  const ids = Array.from({ length: 20 }, (_, n) => SETTLED_ID.slice(0, -2) + String(n + 50))
  for (const id of ids) await get(`/v1/generation?id=${id}`)
  return await fetch(new URL(path, url), {
    headers,
    method: method === 'GET' && body !== undefined ? 'POST' : method,
    ...(body && { body: JSON.stringify(body) }),
  })
}

async function refusalOf({ operationId, code }: { operationId: string; code: string }): Promise<Response> {
  const { body, manages } = OPERATIONS[operationId] ?? {}
  const get = { method: 'GET', body: undefined }
  switch (code) {
    case 'invalid_request':
      return await answerOf(
        operationId,
        always([END]),
        body === undefined
          ? { path: INVALID_PATHS[operationId] ?? '/v1/models/%zz' }
          : { body: { nonsense: 1 } },
      )
    case 'generation_not_found':
      return await answerOf(operationId, always([END]), { path: '/v1/generation?id=x', ...(manages && get) })
    case 'key_not_found':
      return await answerOf(operationId, always([END]), { path: '/v1/keys/x', ...get, headers: MANAGES_MINE })
    case 'key_conflict':
      return await answerOf(operationId, always([END]), {
        headers: { ...MANAGES_MINE, 'idempotency-key': 'used' },
        ...(operationId === 'changeKey' && { body: { name: 'conflict' } }),
      })
    case 'wrong_key':
      return await answerOf(operationId, always([END]), {
        headers: { ...(manages ? AUTHORIZED : MANAGES), 'x-request-id': 'mine' },
      })
    case 'model_busy':
      return !runs(operationId)
        ? await untilBusy(operationId)
        : await answerOf(operationId, failing(new ApiError(code, 'Refused.')))
    case 'invalid_key':
      return await answerOf(operationId, always([END]), { headers: {} })
    case 'model_not_found':
      return await answerOf(
        operationId,
        always([END]),
        runs(operationId) ? { body: { ...body, model: 'nope' } } : { path: '/v1/models/nope', ...get },
      )
    case 'request_too_large':
      return await answerOf(operationId, always([END]), { bodyBytes: 10 })
    default: {
      const error = new ApiError(z.enum(ERROR_CODES).parse(code), 'Refused.')
      return !runs(operationId)
        ? await answerOf(operationId, always([END]), {
            headers: { authorization: 'Bearer broken', 'x-request-id': 'mine' },
            takesWork: false,
          })
        : await answerOf(operationId, failing(error))
    }
  }
}

describe('the examples', () => {
  const examples = [...conformance.operations].flatMap(([operationId, { requestBody }]) =>
    Object.entries(requestBody?.content['application/json'].examples ?? {}).map(([name, { value }]) => ({
      operationId,
      name,
      value,
    })),
  )

  it.each(examples)('of requests to $operationId are accepted: $name', async ({ operationId, value }) => {
    const schema =
      conformance.operations.get(operationId)?.requestBody?.content['application/json'].schema ?? {}
    conformance.assertValid(schema, value)
    const model = runs(operationId) ? OPERATIONS[operationId]?.body?.['model'] : undefined
    const body = { ...z.record(z.string(), z.unknown()).parse(value), model }
    const core = operationId === 'createEmbedding' ? embedding : always([text('{}'), END])
    const response = await answerOf(operationId, core, { body })
    expect([response.ok, await response.text()]).toEqual([true, expect.any(String)])
  })

  it('of answers are as described', () => {
    for (const { responses } of conformance.operations.values()) {
      for (const { content } of Object.values(responses)) {
        for (const [type, { schema, examples }] of Object.entries(content)) {
          expect(Object.keys(examples)).not.toEqual([])
          for (const { value } of Object.values(examples)) {
            if (type === 'application/json') conformance.assertValid(schema, value)
            else conformance.assertEvent(schema, value)
          }
        }
      }
    }
  })
})
