import { expect, test } from 'vitest'
import { createOffers } from '#apps/worker/intake/offers.ts'

const offer = (id: string, forMs = 100, tag = 7) => ({ model: 'demo-chat', id, epoch: 1, tag, forMs })

test('offers of one tag are returned once, in the order of their arrival', () => {
  const offers = createOffers(() => 0)
  for (const id of ['a', 'b']) offers.add(offer(id))
  expect([offers.next()?.offer.id, offers.next()?.offer.id, offers.next()]).toEqual(['a', 'b', null])
})

test('offers are returned in the fair order, also if they were put back', () => {
  const offers = createOffers(() => 0)
  for (const tag of [8, 6, 9]) offers.add(offer(`tag ${tag}`, 100, tag))
  const first = offers.next()
  expect(first?.offer.id).toBe('tag 6')
  if (first !== null) offers.putBack(first)
  const ids = [offers.next(), offers.next(), offers.next()].map((kept) => kept?.offer.id)
  expect(ids).toEqual(['tag 6', 'tag 8', 'tag 9'])
})

test('an offer is dropped when its time has passed, also if it was put back', () => {
  let now = 0
  const offers = createOffers(() => now)
  offers.add(offer('short'))
  offers.add(offer('long', 200))
  const short = offers.next()
  if (short === null) throw new Error('there is no offer')
  now = 50
  offers.putBack(short)
  now = 100
  expect(offers.next()?.offer.id).toBe('long')
  expect(offers.next()).toBeNull()
})

test('256 offers are kept, the latest ones', () => {
  const offers = createOffers(() => 0)
  for (let count = 0; count < 300; count += 1) offers.add(offer(`offer-${count}`))
  const ids = []
  for (let next = offers.next(); next !== null; next = offers.next()) ids.push(next.offer.id)
  expect([ids.length, ids[0], ids.at(-1)]).toEqual([256, 'offer-44', 'offer-299'])
})
