import { expect, test } from 'vitest'
import { countRoom } from '#apps/worker/intake/count-room.ts'
import type { EngineState } from '#libs/event-bus/heartbeat.ts'
import { toBeat, toEngine } from '../../../../support/heartbeats.ts'

const peer = (engines: Partial<EngineState>[]) => ({
  ...toBeat(),
  engines: engines.map((engine) => toEngine({ model: 'a', slots: 4, running: 1, ...engine })),
})

test('room is the free slots of ready engines of the model', () => {
  const peers = [peer([{}, { running: 6 }]), peer([{ ready: false }, { model: 'b' }]), peer([{ running: 2 }])]
  expect([countRoom(peers, 'a'), countRoom(peers, 'b'), countRoom(peers, 'c')]).toEqual([5, 3, 0])
})
