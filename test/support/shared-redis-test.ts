import { Redis } from 'ioredis'
import { test as base } from 'vitest'
import { sharedRedis } from './redis.ts'

/** A `test` with a connection of the file to the Redis that all tests share. */
export const test = base.extend('redis', { scope: 'file' }, ({}, { onCleanup }) => {
  const redis = new Redis(sharedRedis(), { maxRetriesPerRequest: null })
  onCleanup(() => redis.disconnect())
  return redis
})
