import { expect, it } from 'vitest'
import { createLruMap } from '#apps/gateway/http/lru-map.ts'

it('makes room by dropping the entry that was used longest ago', () => {
  const map = createLruMap<number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.get('a')
  map.set('c', 3)
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([1, undefined, 3])
})

it('takes a new value of an entry as a use, not as another entry', () => {
  const map = createLruMap<number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 4)
  map.set('c', 3)
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([4, undefined, 3])
})

it('forgets an entry that is deleted, and all when it is cleared', () => {
  const map = createLruMap<number>(2)
  map.set('a', 1)
  map.delete('a')
  map.set('b', 2)
  map.clear()
  expect([map.get('a'), map.get('b')]).toEqual([undefined, undefined])
})
