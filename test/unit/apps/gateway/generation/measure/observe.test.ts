import { Registry } from '@prometheus-io/client'
import { expect, test } from 'vitest'
import { createDemand } from '#apps/gateway/demand/demand.ts'
import type { GenerationCall } from '#apps/gateway/generation/request/generation-call.ts'
import { createGenerationMetrics } from '#apps/gateway/generation/measure/generation-metrics.ts'
import { createObserve } from '#apps/gateway/generation/measure/observe.ts'
import { createRequestBook } from '#apps/gateway/reports/request-book.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationEnd } from '#libs/contracts/generation-event.ts'
import { generationCall } from '../../../../../support/generation-call.ts'

const USAGE = { promptTokens: 30, cachedTokens: 0, completionTokens: 11, reasoningTokens: 0 }
const CHAT = 'gen_ai_operation_name="chat",gen_ai_request_model="demo-chat"'

function setUp(call: Partial<GenerationCall> = {}) {
  const clock = { nowMs: 500 }
  const registry = new Registry()
  const book = createRequestBook({ nowMs: () => clock.nowMs })
  const demand = createDemand({ onUnserved: () => {}, nowMs: () => 0 })
  const observe = createObserve({
    metrics: createGenerationMetrics(registry),
    demand,
    book,
    nowMs: () => clock.nowMs,
  })
  const observed = observe(generationCall({ receivedMs: 0, ...call }))
  /** Returns the values of this metric by name and labels, without buckets and zeros. */
  const values = async (start: string) => {
    const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith(start))
    return lines.filter((line) => !line.includes('_bucket') && !line.endsWith(' 0'))
  }
  return { observed, clock, values, book, demanded: () => demand.read()['demo-chat'] }
}

test('a complete generation gives its duration, first token, time per token and tokens', async () => {
  const { observed, clock, values } = setUp()
  observed.admitted({ ahead: null, tokens: () => 0 })
  clock.nowMs = 1_500
  observed.output()
  clock.nowMs = 2_000
  observed.output()
  clock.nowMs = 2_500
  observed.ended(USAGE)
  expect(await values('gen_ai_server')).toEqual([
    `gen_ai_server_request_duration_seconds_sum{${CHAT}} 2.5`,
    `gen_ai_server_request_duration_seconds_count{${CHAT}} 1`,
    `gen_ai_server_time_to_first_token_seconds_sum{${CHAT}} 1.5`,
    `gen_ai_server_time_to_first_token_seconds_count{${CHAT}} 1`,
    `gen_ai_server_time_per_output_token_seconds_sum{${CHAT}} 0.1`,
    `gen_ai_server_time_per_output_token_seconds_count{${CHAT}} 1`,
  ])
  expect(await values('gen_ai_client_token_usage_sum')).toEqual([
    `gen_ai_client_token_usage_sum{${CHAT},gen_ai_token_type="input"} 30`,
    `gen_ai_client_token_usage_sum{${CHAT},gen_ai_token_type="output"} 11`,
  ])
})

test('several answers are written at the same time, so the time per token is not measured', async () => {
  const { observed, clock, values } = setUp({ choices: 2 })
  observed.admitted({ ahead: null, tokens: () => 0 })
  clock.nowMs = 1_500
  observed.output()
  observed.ended(USAGE)
  expect(await values('gen_ai_server_time_to_first_token_seconds_count')).toHaveLength(1)
  expect(await values('gen_ai_server_time_per_output_token')).toEqual([])
})

test('one that fails, and one that its caller leaves, give a duration with the cause, and no times of tokens', async () => {
  const failed = setUp()
  failed.observed.admitted({ ahead: null, tokens: () => 0 })
  failed.observed.output()
  failed.observed.failed(new ApiError('model_unavailable', 'No worker.'))
  failed.observed.ended(null)
  expect(await failed.values('gen_ai')).toEqual([
    `gen_ai_server_request_duration_seconds_sum{${CHAT},error_type="model_unavailable"} 0.5`,
    `gen_ai_server_request_duration_seconds_count{${CHAT},error_type="model_unavailable"} 1`,
  ])
  const left = setUp({ signal: AbortSignal.abort() })
  left.observed.admitted({ ahead: null, tokens: () => 0 })
  left.observed.ended(null)
  expect((await left.values('gen_ai'))[1]).toContain('error_type="client_gone"')
})

test('an embedding has no first token', async () => {
  const { observed, values } = setUp({ request: { kind: 'embedding', inputs: ['a'] } })
  observed.admitted({ ahead: null, tokens: () => 0 })
  observed.ended({ ...USAGE, completionTokens: 0 })
  expect(await values('gen_ai_server')).toHaveLength(2)
  expect((await values('gen_ai_server'))[0]).toContain('gen_ai_operation_name="embeddings"')
})

test('an admitted request is demand, and a failure after that is no refusal', async () => {
  const { observed, values, demanded } = setUp({ isRepeated: true })
  observed.admitted({ ahead: null, tokens: () => 0 })
  observed.failed(new ApiError('model_unavailable', 'No worker.'))
  expect(await values('millrace_gateway_admissions_total')).toEqual([
    'millrace_gateway_admissions_total{model="demo-chat",outcome="admitted"} 1',
  ])
  expect(demanded()).toMatchObject({ fresh: 0, repeated: 1, refused: 0 })
})

test('each refusal counts by its outcome, those with a retry-after of the model with its seconds', async () => {
  const refusals = [
    { code: 'model_busy', outcome: 'busy', retryAfterS: 2.2, seconds: 3 },
    { code: 'model_warming', outcome: 'warming', retryAfterS: 140, seconds: 59 },
    { code: 'model_unavailable', outcome: 'unavailable', retryAfterS: 5, seconds: null },
    { code: 'insufficient_credits', outcome: 'no-credits', retryAfterS: 5, seconds: null },
  ] as const
  for (const { code, outcome, retryAfterS, seconds } of refusals) {
    const { observed, values, demanded } = setUp()
    observed.failed(new ApiError(code, 'Refused.', { retryAfterS }))
    expect(await values('millrace_gateway_admissions_total')).toEqual([
      `millrace_gateway_admissions_total{model="demo-chat",outcome="${outcome}"} 1`,
    ])
    expect(await values('millrace_gateway_retry_after_seconds_sum')).toEqual(
      seconds === null
        ? []
        : [`millrace_gateway_retry_after_seconds_sum{model="demo-chat",outcome="${outcome}"} ${seconds}`],
    )
    // Admission itself decides which refusals are demand.
    expect(demanded()).toBeUndefined()
  }
})

test('a key that was revoked meanwhile is no outcome of admission, and an unexpected failure before it is none', async () => {
  const { observed, values } = setUp()
  observed.failed(new ApiError('invalid_key', 'The API key is no longer valid.'))
  observed.failed(new Error('test: broken'))
  expect(await values('millrace_gateway_admissions_total')).toEqual([])
})

test('the book counts how each request ended: complete, left by its caller, refused, failed', () => {
  const { book } = setUp()
  const end = (
    call: Partial<GenerationCall>,
    steps: (observed: ReturnType<typeof setUp>['observed']) => void,
  ) => {
    const observe = createObserve({
      metrics: createGenerationMetrics(new Registry()),
      demand: { count: () => {} },
      book,
      nowMs: () => 1_000,
    })
    steps(observe(generationCall({ receivedMs: 0, ...call })))
  }
  end({}, (observed) => {
    observed.admitted({ ahead: null, tokens: () => 3 })
    observed.claimed({})
    observed.ended(USAGE)
  })
  end({ signal: AbortSignal.abort() }, (observed) => observed.ended(null))
  end({}, (observed) => {
    observed.failed(new ApiError('model_busy', 'Busy.'))
    observed.ended(null)
  })
  end({}, (observed) => {
    observed.admitted({ ahead: null, tokens: () => 0 })
    observed.failed(new Error('a bug'))
    observed.ended(null)
  })
  expect(book.counts('demo-chat')).toMatchObject({
    asked: 5,
    refused: new Map([['model_busy', 1]]),
    failed: new Map([['upstream_error', 1]]),
  })
})

const END: GenerationEnd = { type: 'generation-end', finishReason: 'tool-calls', usage: USAGE }

test('for the settlement, wait, first token and run follow each other, although the claim came with the first token', () => {
  const { observed, clock } = setUp()
  observed.admitted({ ahead: 124, tokens: () => 0 })
  clock.nowMs += 14_610
  observed.claimed({ waitedMs: 14_200 })
  observed.claimed({ waitedMs: 7 })
  observed.output()
  clock.nowMs += 5_900
  observed.output()
  expect(observed.timing(END)).toEqual({
    waitedMs: 14_200,
    ahead: 124,
    firstTokenMs: 410,
    ranMs: 5_900,
    finishReason: 'tool_calls',
    errorCode: null,
    reasoningTokens: 0,
    streamed: true,
  })
})

test('for the settlement, a generation that no worker claimed has waited until its end, and a failure leaves its code', () => {
  const { observed, clock } = setUp()
  observed.admitted({ ahead: 3, tokens: () => 0 })
  clock.nowMs += 700
  observed.failed(new ApiError('model_unavailable', 'gone'))
  const none = { firstTokenMs: null, ranMs: null, finishReason: null }
  expect(observed.timing(null)).toMatchObject({ waitedMs: 700, errorCode: 'model_unavailable', ...none })
  observed.failed(new Error('bug'))
  expect(observed.timing(null).errorCode).toBe('upstream_error')
})
