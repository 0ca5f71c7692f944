import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { deleteVectors, readVectors, vectorsKey, writeVectors } from '#libs/event-bus/vectors.ts'
import { test } from '../../support/shared-redis-test.ts'

const gateway = randomUUID()

const place = (first: number, worker = 'worker-1') =>
  vectorsKey({ gateway, stream: 1, epoch: 1, worker, first })
const VECTORS = [Float32Array.of(0.1, -2.5, 3e-38), Float32Array.of(Math.fround(1 / 3), 0, 1)]

test('vectors arrive bit for bit, also from the middle of a larger memory, and may be read again', async ({
  redis,
}) => {
  const inside = Float32Array.of(9, 9, 1, 2, 3).subarray(2)
  await writeVectors(redis, place(0), [...VECTORS, inside])
  expect(await redis.strlen(place(0))).toBe(3 * 3 * 4)
  for (let time = 0; time < 2; time += 1) {
    expect(await readVectors(redis, place(0), { count: 3, dimensions: 3 })).toEqual([...VECTORS, inside])
  }
  await deleteVectors(redis, place(0))
  await expect(readVectors(redis, place(0), { count: 3, dimensions: 3 })).rejects.toThrow('gone')
})

test('two workers that run the same epoch do not write over each other', async ({ redis }) => {
  await writeVectors(redis, place(0), VECTORS)
  await writeVectors(redis, place(0, 'worker-2'), VECTORS.toReversed())
  expect(await readVectors(redis, place(0), { count: 2, dimensions: 3 })).toEqual(VECTORS)
})

test('vectors that are not taken expire within half a minute', async ({ redis }) => {
  await writeVectors(redis, place(0), VECTORS)
  const leftMs = await redis.pttl(place(0))
  expect(leftMs).toBeGreaterThan(10_000)
  expect(leftMs).toBeLessThanOrEqual(30_000)
})

test('vectors of another length than the catalog states are an error, not other numbers', async ({
  redis,
}) => {
  await writeVectors(redis, place(0), VECTORS)
  await expect(readVectors(redis, place(0), { count: 2, dimensions: 4 })).rejects.toThrow(
    'its vectors are 24 bytes; 2 of 4 dimensions are 32',
  )
})
