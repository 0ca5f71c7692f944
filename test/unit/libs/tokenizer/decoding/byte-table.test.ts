import { expect, it } from 'vitest'
import { createByteTable } from '#libs/tokenizer/decoding/byte-table.ts'
import { referenceTokenizers } from '../reference-tokenizers.ts'

it('has a text for exactly the tokens whose bytes are complete characters', () => {
  const { tokens } = referenceTokenizers.find(({ kind }) => kind === 'byte-level-bpe')?.file ?? { tokens: [] }
  const table = createByteTable(tokens)
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let partial = 0
  for (let id = 0; id < table.size; id++) {
    const bytes = table.bytes(id)
    if (bytes === null) continue
    let text: string | null = null
    try {
      text = strict.decode(bytes)
    } catch {
      partial += 1
    }
    expect(table.text(id)).toBe(text)
    expect(table.text(id)).toBe(text)
  }
  expect(partial).toBeGreaterThan(100)
})

it('has no bytes and an empty text for unknown ids', () => {
  const table = createByteTable(['a', undefined, 'b'])
  expect([table.bytes(1), table.text(1), table.bytes(3), table.text(-1)]).toEqual([null, '', null, ''])
  expect(table.concat([0, 1, 2, 9])).toEqual(Uint8Array.of(0x61, 0x62))
})
