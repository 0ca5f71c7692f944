import { Registry } from '@prometheus-io/client'
import { expect, test } from 'vitest'
import { EngineError } from '#apps/worker/engine/engine-error.ts'
import { createEngineMetrics } from '#apps/worker/metrics/engine-metrics.ts'
import { createCallMeter, measureEmbed } from '#apps/worker/run/measure/measure-calls.ts'

function setUp(operation: 'chat' | 'embeddings') {
  const registry = new Registry()
  const state = { nowMs: 0 }
  const { calls: histograms } = createEngineMetrics({ registry, engines: () => [] })
  const meter = createCallMeter({ histograms, model: 'demo', operation, nowMs: () => state.nowMs })
  const lines = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^gen_ai_\w+_(sum|count)/.test(line))
  return { state, meter, lines }
}

const LABELS = 'gen_ai_operation_name="chat",gen_ai_request_model="demo"'
const DURATION = 'gen_ai_client_operation_duration_seconds'
const FIRST = 'gen_ai_client_operation_time_to_first_chunk_seconds'

test('a call of the engine is measured to its end and to its first output', async () => {
  const { state, meter, lines } = setUp('chat')
  const end = meter.begin()
  state.nowMs = 3_000
  end({ firstMs: 500 })
  expect(await lines()).toEqual([
    `${DURATION}_sum{${LABELS}} 3`,
    `${DURATION}_count{${LABELS}} 1`,
    `${FIRST}_sum{${LABELS}} 0.5`,
    `${FIRST}_count{${LABELS}} 1`,
  ])
})

test.for([
  ['deadline', 'deadline'],
  [new EngineError('dead', 'Engine is not alive'), 'dead'],
  [new Error('anything'), 'other'],
] as const)('a call that ended early by %s is counted under %s', async ([error, type]) => {
  const { meter, lines } = setUp('chat')
  meter.begin()({ firstMs: null, error })
  expect(await lines()).toContain(`${DURATION}_count{${LABELS},error_type="${type}"} 1`)
})

test('each embedded input is a call', async () => {
  const { meter, lines } = setUp('embeddings')
  const answer = { embedding: Float32Array.of(1), promptTokens: 1 }
  const leaving = new AbortController()
  const request = { requestId: 'e', promptIds: Uint32Array.of(1) }
  const embed = measureEmbed(async () => {
    if (leaving.signal.aborted) throw new Error('aborted')
    return answer
  }, meter)
  expect(await embed(request, leaving.signal)).toBe(answer)
  leaving.abort()
  await expect(embed(request, leaving.signal)).rejects.toThrow('aborted')
  const labels = 'gen_ai_operation_name="embeddings",gen_ai_request_model="demo"'
  expect(await lines()).toEqual(
    expect.arrayContaining([
      `${DURATION}_count{${labels}} 1`,
      `${DURATION}_count{${labels},error_type="stopped"} 1`,
    ]),
  )
})
