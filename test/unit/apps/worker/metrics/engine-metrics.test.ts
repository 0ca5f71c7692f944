import { Registry } from '@prometheus-io/client'
import { expect, test } from 'vitest'
import { createEngineMetrics } from '#apps/worker/metrics/engine-metrics.ts'
import { toEngine } from '../../../../support/heartbeats.ts'

test('an engine shows its phase, its cache where it is known, its tokens, starts, restarts and waits', async () => {
  const registry = new Registry()
  const tokens = { promptTokens: 300, cachedTokens: 100, outputTokens: 20 }
  const metrics = createEngineMetrics({
    registry,
    engines: () => [
      toEngine({ model: 'demo', phase: 'cordoned', kvCapacity: 100 }),
      toEngine({ model: 'demo', kvUsed: 40, kvCapacity: 100, version: '0.32.0', waiting: 3, ...tokens }),
    ],
  })
  metrics.noteLoad('demo', 90_000)
  metrics.noteRestart('demo', 'silent')
  metrics.noteQueueWait('demo', 250)
  // A second scrape shows the same.
  await registry.metrics()
  const lines = (await registry.metrics()).split('\n')
  expect(lines).toEqual(
    expect.arrayContaining([
      'millrace_worker_phase{model="demo",phase="loading"} 0',
      'millrace_worker_phase{model="demo",phase="ready"} 1',
      'millrace_worker_phase{model="demo",phase="cordoned"} 1',
      'millrace_worker_kv_tokens{model="demo",state="used"} 40',
      'millrace_worker_kv_tokens{model="demo",state="capacity"} 200',
      'millrace_worker_engine_info{model="demo",version="0.32.0"} 1',
      'millrace_worker_engine_waiting{model="demo"} 3',
      'millrace_worker_tokens_total{model="demo",kind="prompt"} 300',
      'millrace_worker_tokens_total{model="demo",kind="cached"} 100',
      'millrace_worker_tokens_total{model="demo",kind="output"} 20',
      'millrace_worker_engine_restarts_total{model="demo",reason="silent"} 1',
      'millrace_worker_load_seconds_sum{model="demo"} 90',
      'millrace_worker_queue_wait_seconds_sum{model="demo"} 0.25',
      'millrace_worker_queue_wait_seconds_count{model="demo"} 1',
    ]),
  )
})
