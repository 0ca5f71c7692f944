import { expect, test } from 'vitest'
import { countRoom } from '#apps/worker/intake/count-room.ts'
import type { Heartbeat } from '#libs/event-bus/heartbeat.ts'

const peer = (engines: Partial<Heartbeat['engines'][number]>[]): Heartbeat => ({
  id: 'w',
  form: 2,
  kind: 'worker',
  name: 'w',
  engines: engines.map((engine) => ({
    model: 'a',
    ready: true,
    slots: 4,
    running: 1,
    meanGenerationMs: null,
    slotTokensPerS: null,
    contextWindow: 4_096,
    ...engine,
  })),
})

test('room is the free slots of ready engines of the model', () => {
  const peers = [peer([{}, { running: 6 }]), peer([{ ready: false }, { model: 'b' }]), peer([{ running: 2 }])]
  expect([countRoom(peers, 'a'), countRoom(peers, 'b'), countRoom(peers, 'c')]).toEqual([5, 3, 0])
})
