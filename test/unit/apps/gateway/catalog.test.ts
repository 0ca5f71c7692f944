import { expect, test } from 'vitest'
import { createLiveCatalog, withCallFormats } from '#apps/gateway/catalog.ts'
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

test('a model is sold while the catalog has it and it is enabled', () => {
  const catalog = createLiveCatalog([])
  catalog.replace([live, { ...fallback, enabled: false }])
  expect(['live', 'fallback', 'no'].map(catalog.isSold)).toEqual([true, false, false])
})

test('an empty live catalog is empty', () => {
  const catalog = createLiveCatalog([fallback])
  catalog.replace([])
  expect([catalog.isLive(), catalog.list(), catalog.find('fallback')]).toEqual([true, [], null])
})

test('a model has the call format of its workers, as long as one is known', () => {
  const catalog = createLiveCatalog([])
  catalog.replace([live, fallback])
  const complete = withCallFormats(catalog, (model) => (model === 'live' ? 'hermes' : null))
  const called = { ...live, callFormat: 'hermes' }
  expect(complete.list()).toEqual([called, fallback])
  expect([complete.find('live'), complete.find('fallback'), complete.find('no')]).toEqual([
    called,
    fallback,
    null,
  ])
})
