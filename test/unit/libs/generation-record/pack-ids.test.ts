import { expect, test } from 'vitest'
import { packIds, unpackIds } from '#libs/generation-record/pack-ids.ts'

test('ids are stored as unsigned 32 bit integers, little endian', () => {
  expect(packIds(Uint32Array.of(1, 256, 4_294_967_295)).toString('hex')).toBe('0100000000010000ffffffff')
})

test('stored ids are read from any place in a reply', () => {
  const reply = Buffer.concat([Buffer.from('x'), packIds(Uint32Array.of(7, 4_294_967_295))])
  expect(unpackIds(reply.subarray(1))).toEqual(Uint32Array.of(7, 4_294_967_295))
})
