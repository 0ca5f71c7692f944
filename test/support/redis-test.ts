import { Redis } from 'ioredis'
import { test as base } from 'vitest'
import { createRedis } from './redis.ts'

/** A `test` with a Redis server that is the file's own, and with a connection to it. */
export const test = base
  .extend('server', { scope: 'file' }, async ({}, { onCleanup }) => {
    const server = await createRedis()
    onCleanup(() => server.stop())
    return server
  })
  .extend('redis', { scope: 'file' }, ({ server }, { onCleanup }) => {
    const redis = new Redis(server.url)
    onCleanup(() => redis.disconnect())
    return redis
  })
