/**
 * The characters in which a byte-level vocabulary writes its tokens (GPT-2's alphabet): one character for each byte;
 * the index is the byte. The character of a printable Latin-1 byte is that byte's own character. The other 68 bytes, in
 * order, have the characters from U+0100 on.
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
