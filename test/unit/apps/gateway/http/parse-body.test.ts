import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { optional, parseBody, readJsonObject, requireFields } from '#apps/gateway/http/parse-body.ts'

const invalid = { code: 'invalid_request' }

describe('readJsonObject', () => {
  it('reads an object in UTF-8', () => {
    expect(readJsonObject(Buffer.from('{"a":"ä€𝄞"}'))).toEqual({ a: 'ä€𝄞' })
  })

  it('ignores a byte order mark', () => {
    expect(readJsonObject(Buffer.from('\uFEFF{"a":1}'))).toEqual({ a: 1 })
    expect(() => readJsonObject(Buffer.from('\uFEFF'))).toThrow('The body must be JSON.')
    expect(() => readJsonObject(Buffer.from('\uFEFF\uFEFF{}'))).toThrow('The body must be JSON.')
  })

  it.each([
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
    ['UTF-16 with a mark', Buffer.from('\uFEFF{"a":1}', 'utf16le')],
    ['UTF-16, big endian', Buffer.from('{"a":1}', 'utf16le').swap16()],
    ['latin-1', Buffer.from('{"a":"ä"}', 'latin1')],
  ])('names the charset that it expects of %s', (_name, body) => {
    expect(() => readJsonObject(body)).toThrow('in UTF-8; other charsets, such as UTF-16 and latin-1')
  })

  it.each([
    ['nothing', undefined],
    ['an empty body', Buffer.alloc(0)],
    ['half an object', Buffer.from('{nope')],
    ['an array', Buffer.from('[1]')],
    ['null', Buffer.from('null')],
    ['a number', Buffer.from('5')],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])('refuses %s', (_name, body) => {
    expect(() => readJsonObject(body)).toThrow(expect.objectContaining(invalid))
  })
})

describe('requireFields', () => {
  it('names the first field that is absent or null', () => {
    expect(() => requireFields({ a: 1, b: null }, ['a', 'b', 'c'])).toThrow(
      expect.objectContaining({ ...invalid, param: 'b' }),
    )
    expect(() => requireFields({ a: 1 }, ['a'])).not.toThrow()
  })
})

describe('parseBody', () => {
  const Body = z.object({
    size: optional(z.number('expected a number')),
    items: z.array(z.object({ name: z.string('expected text') })),
  })

  it('reads null in an optional field as absent', () => {
    expect(parseBody(Body, { size: null, items: [] })).toEqual({ size: undefined, items: [] })
    expect(parseBody(Body, { items: [] }).size).toBeUndefined()
  })

  it('names the wrong field by its path, and what is expected there', () => {
    expect(() => parseBody(Body, { items: [{ name: 'x' }, { name: 5 }] })).toThrow(
      expect.objectContaining({
        ...invalid,
        param: 'items[1].name',
        message: "'items[1].name': expected text.",
      }),
    )
  })

  it('takes `__proto__` for a property as any other', () => {
    const body = readJsonObject(Buffer.from('{"items":[],"__proto__":{"size":5}}'))
    expect(parseBody(Body, body)).toEqual({ items: [] })
    expect(() => parseBody(Body.strict(), body)).toThrow(
      expect.objectContaining({ ...invalid, param: '__proto__' }),
    )
  })

  it('accepts unknown properties', () => {
    expect(parseBody(Body, { items: [], other: { a: 1 } })).toEqual({ items: [] })
  })
})
