import { expect, test } from 'vitest'
import { createBuildReport } from '#apps/worker/reports/build-report.ts'
import { VERSION } from '#libs/telemetry/version.ts'

test('a report names the process and its engines, also one that has not answered yet', () => {
  const state = {
    ready: true,
    slots: 8,
    running: 1,
    meanGenerationMs: null,
    slotTokensPerS: null,
    contextWindow: 4_096,
  }
  const build = createBuildReport({
    self: { id: 'boot-1', name: 'worker-0' },
    engines: [
      {
        config: { model: 'chat', engine: '127.0.0.1:1' },
        served: {
          state: () => ({ ...state, model: 'chat' }),
          engine: () => ({ version: '0.32.0', waiting: 2 }),
        },
        refuses: ['tools'],
      },
      { config: { model: 'embed', engine: '127.0.0.1:2' }, served: null, refuses: null },
    ],
    pendingSettlements: () => 3,
    problemOf: ({ model }) => (model === 'embed' ? 'no tokenizer' : null),
  })
  const report = build()
  expect(report).toMatchObject({
    v: 1,
    kind: 'worker',
    id: 'boot-1',
    name: 'worker-0',
    version: VERSION,
    pid: process.pid,
    pendingSettlements: 3,
    engines: [
      {
        model: 'chat',
        address: '127.0.0.1:1',
        version: '0.32.0',
        contextWindow: 4_096,
        waiting: 2,
        problem: null,
        refuses: ['tools'],
      },
      {
        model: 'embed',
        version: null,
        contextWindow: null,
        waiting: null,
        problem: 'no tokenizer',
        refuses: null,
      },
    ],
  })
  expect(Date.parse(report.startedAt)).toBeLessThan(Date.now())
})
