/**
 * GPT-2's alphabet, in which a byte-level vocabulary writes its tokens, indexed by byte. Printable Latin-1 bytes are
 * their own characters; the 68 other bytes are U+0100 and up, in order.
 */
export const CHARACTER_OF_BYTE: readonly string[] = (() => {
  const printable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
  let shifted = 0x100
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : shifted++))
})()

export const BYTE_OF_CHARACTER: ReadonlyMap<string, number> = new Map(
  CHARACTER_OF_BYTE.map((character, byte) => [character, byte]),
)
