import { expect, test } from 'vitest'
import { createLiveCatalog } from '#apps/gateway/catalog.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const fallback = modelSpec({ id: 'fallback' })
const live = modelSpec({ id: 'live' })

test('until billing is reached the fallback is listed', () => {
  const catalog = createLiveCatalog([fallback])
  expect([catalog.isLive(), catalog.list(), catalog.find('fallback')]).toEqual([false, [fallback], fallback])
})

test('until then another model may exist: it is unavailable, not unknown', () => {
  const catalog = createLiveCatalog([fallback])
  expect(() => catalog.find('live')).toThrow('cannot be read right now')
})

test('the live catalog takes its place at once and for good', () => {
  const catalog = createLiveCatalog([fallback])
  catalog.replace([live])
  expect([catalog.isLive(), catalog.list(), catalog.find('live')]).toEqual([true, [live], live])
  expect(catalog.find('fallback')).toBeNull()
})

test('an empty live catalog is empty', () => {
  const catalog = createLiveCatalog([fallback])
  catalog.replace([])
  expect([catalog.isLive(), catalog.list(), catalog.find('fallback')]).toEqual([true, [], null])
})
