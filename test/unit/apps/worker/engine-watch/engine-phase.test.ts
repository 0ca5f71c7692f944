import { expect, it } from 'vitest'
import { toPhase } from '#apps/worker/engine-watch/engine-phase.ts'

const READY = { draining: false, sick: false, healthy: true, cordoned: false }

it.for([
  [{}, 'ready'],
  [{ cordoned: true }, 'cordoned'],
  [{ healthy: false }, 'loading'],
  [{ healthy: false, cordoned: true }, 'loading'],
  [{ sick: true, cordoned: true }, 'sick'],
  [{ sick: true, healthy: false }, 'sick'],
  [{ draining: true, sick: true, healthy: false, cordoned: true }, 'draining'],
] as const)('%j: %s', ([of, phase]) => {
  expect(toPhase({ ...READY, ...of })).toBe(phase)
})
