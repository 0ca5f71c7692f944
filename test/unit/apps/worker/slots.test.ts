import { expect, test } from 'vitest'
import { createSlots } from '#apps/worker/slots.ts'

test('room is when fewer run than fit', async () => {
  const slots = createSlots(2)
  const works = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  for (const { promise } of works) slots.take(async () => await promise)
  expect(slots.running()).toBe(2)

  const resolved: string[] = []
  const room = slots.room().then(() => resolved.push('room'))
  const idle = slots.idle().then(() => resolved.push('idle'))
  works[0]?.resolve()
  await room
  expect(resolved).toEqual(['room'])
  works[1]?.resolve()
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
