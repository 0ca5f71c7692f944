import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createApiKey,
  createManagementKey,
  hashApiKey,
  isWellFormedApiKey,
  isWellFormedManagementKey,
} from '#libs/api-key/api-key.ts'

test('a new key is well formed, long enough for 192 bits, and never the same', () => {
  const keys = Array.from({ length: 500 }, createApiKey)
  expect(new Set(keys).size).toBe(500)
  for (const key of keys) {
    expect(isWellFormedApiKey(key)).toBe(true)
    const random = /^mr_live_([0-9A-Za-z]+)[0-9A-Za-z]{6}$/.exec(key)?.[1] ?? ''
    expect(random.length * Math.log2(62)).toBeGreaterThanOrEqual(192)
  }
})

test('every character of the alphabet is used', () => {
  const text = Array.from({ length: 500 }, () => createApiKey().slice('mr_live_'.length)).join('')
  expect(new Set(text).size).toBe(62)
})

test('a wrong, missing or added character is noticed', () => {
  const key = createApiKey()
  for (let place = 0; place < key.length; place += 1) {
    const other = key[place] === 'x' ? 'y' : 'x'
    expect(isWellFormedApiKey(key.slice(0, place) + other + key.slice(place + 1))).toBe(false)
    expect(isWellFormedApiKey(key.slice(0, place) + key.slice(place + 1))).toBe(false)
  }
  expect(isWellFormedApiKey(`${key}0`)).toBe(false)
  expect(isWellFormedApiKey(`${key}\n`)).toBe(false)
})

test('no other text is well formed', () => {
  fc.assert(fc.property(fc.string(), (text) => !isWellFormedApiKey(text)))
  expect(isWellFormedApiKey('')).toBe(false)
})

test('the checksum is CRC32 in base62, so that a key issued today stays valid', () => {
  expect(isWellFormedApiKey(`mr_live_${'0'.repeat(33)}47i4Io`)).toBe(true)
})

test('is stored as the SHA-256 of its whole text', () => {
  const key = createApiKey()
  expect(hashApiKey(key)).toEqual(createHash('sha256').update(key, 'utf8').digest())
})

test('a management key is of the same making, and no key is of both kinds', () => {
  const [api, management] = [createApiKey(), createManagementKey()]
  expect(management).toMatch(/^mr_manage_[0-9A-Za-z]{39}$/)
  expect([api, management].map(isWellFormedManagementKey)).toEqual([false, true])
  expect([api, management].map(isWellFormedApiKey)).toEqual([true, false])
  expect(isWellFormedManagementKey(`${management.slice(0, -1)}${management.endsWith('0') ? '1' : '0'}`)).toBe(
    false,
  )
  expect(isWellFormedManagementKey(management.replace('mr_manage_', 'mr_live_'))).toBe(false)
})
