import { expect, test } from 'vitest'
import { parseScalerModels } from '#apps/scaler/scaler-models.ts'

const POOL = {
  pool: 'mr-chat',
  model: 'demo/chat',
  gpuClass: 'h100',
  gpus: 2,
  min: 0,
  max: 8,
  floors: [{ cron: '0 8 * * 1-5', timezone: 'Europe/Berlin', min: 2 }],
  priority: 50,
  order: 1,
  slots: 64,
  targetWaitSeconds: 60,
  utilization: 0.8,
  idleSeconds: 900,
  downWindowSeconds: 300,
  startSeconds: 180,
  spot: false,
}
const FILE = { pools: [POOL], budget: { h100: 16 }, gateway: null, hpaTolerance: 0.1 }

const parse = (fields: object) => parseScalerModels(JSON.stringify({ ...FILE, ...fields }))

test('pools are grouped by model, and seconds become milliseconds', () => {
  const spot = { ...POOL, pool: 'mr-chat-spot', order: 2, spot: true }
  const { models } = parse({ pools: [POOL, spot, { ...POOL, pool: 'mr-other', model: 'other' }] })
  expect(models.map(({ model, pools }) => [model, pools.map(({ pool }) => pool)])).toEqual([
    ['demo/chat', ['mr-chat', 'mr-chat-spot']],
    ['other', ['mr-other']],
  ])
  expect(models[0]?.pools[0]).toMatchObject({ targetWaitMs: 60_000, idleMs: 900_000, downWindowMs: 300_000 })
})

test.each([
  [{ pools: [{ ...POOL, min: 9 }] }, 'pools.0.min: min is above max'],
  [{ pools: [{ ...POOL, floors: [{ cron: 'never', timezone: 'UTC', min: 1 }] }] }, 'pools.0.floors.0'],
  [
    { pools: [{ ...POOL, floors: [{ cron: '0 8 * * *', timezone: 'Nowhere', min: 1 }] }] },
    'pools.0.floors.0',
  ],
  [
    { pools: [{ ...POOL, floors: [{ cron: '* 8-19 * * 1-5', timezone: 'UTC', min: 1 }] }] },
    "pools.0.floors.0: '* 8-19 * * 1-5': expected a minute",
  ],
  [
    { pools: [{ ...POOL, floors: [{ cron: '0 8 30 2 *', timezone: 'UTC', min: 1 }] }] },
    'pools.0.floors.0: no date matches',
  ],
  [{ pools: [{ ...POOL, utilisation: 1 }] }, 'utilisation'],
  [{ pools: [POOL, POOL] }, 'mr-chat is there twice'],
  [{ gateway: { deployment: 'mr-chat', min: 1, max: 2, streamsPerPod: 9 } }, 'mr-chat is there twice'],
  [{ hpaTolerance: 2 }, 'hpaTolerance'],
])('%j is refused', (fields, message) => {
  expect(() => parse(fields)).toThrow(message)
})

test('text that is not JSON is refused', () => {
  expect(() => parseScalerModels('{')).toThrow('expected JSON')
})
