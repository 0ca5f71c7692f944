import { expect, test } from 'vitest'
import { createBuildReport } from '#apps/worker/reports/build-report.ts'
import { VERSION } from '#libs/telemetry/version.ts'

test('a report names the process and its engines, also one that has not answered yet', () => {
  const build = createBuildReport({
    self: { id: 'boot-1', name: 'worker-0' },
    engines: [
      {
        config: { model: 'chat', engine: '127.0.0.1:1' },
        refuses: ['tools'],
      },
      { config: { model: 'embed', engine: '127.0.0.1:2' }, refuses: null },
    ],
    pendingSettlements: () => 3,
    problemOf: ({ model }) => (model === 'embed' ? 'no tokenizer' : null),
  })
  const report = build()
  expect(report).toMatchObject({
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
        problem: null,
        refuses: ['tools'],
      },
      {
        model: 'embed',
        problem: 'no tokenizer',
        refuses: null,
      },
    ],
  })
  expect(Date.parse(report.startedAt)).toBeLessThan(Date.now())
})
