import { expect, test } from 'vitest'
import { createSlots } from '#apps/worker/intake/slots.ts'

test('room is when fewer run than fit', async () => {
  const slots = createSlots(2)
  const leave = [slots.take(), slots.take()]
  expect(slots.running()).toBe(2)

  const resolved: string[] = []
  const room = slots.room().then(() => resolved.push('room'))
  const idle = slots.idle().then(() => resolved.push('idle'))
  leave[0]?.()
  await room
  expect(resolved).toEqual(['room'])
  leave[1]?.()
  await idle
  expect(resolved).toEqual(['room', 'idle'])
  expect(slots.running()).toBe(0)
})

test('room resolves at once while a slot is free', async () => {
  const slots = createSlots(1)
  await slots.room()
  await slots.idle()
  expect(slots.capacity()).toBe(1)
})

test('a slot that was given back twice is one slot', async () => {
  const slots = createSlots(2)
  const [leave] = [slots.take(), slots.take()]
  leave?.()
  leave?.()
  expect([slots.running(), slots.isFree()]).toEqual([1, true])
})

test('a resize gives room at once, and takes nothing away from what runs', async () => {
  const slots = createSlots(1)
  slots.take()
  const room = slots.room()
  slots.resize(2)
  await room
  slots.take()
  slots.resize(1)
  expect([slots.running(), slots.capacity(), slots.isFree()]).toEqual([2, 1, false])
})
