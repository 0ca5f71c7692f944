/**
 * How many of the last bytes of `bytes[0, end)` begin a UTF-8 character that is not finished yet (0 to 3).
 * Bytes that can never become a character do not count: a lenient decoder replaces them whatever follows, so
 * cutting before the tail gives the same text as decoding everything at once.
 */
export function incompleteTail(bytes: Uint8Array, end: number): number {
  for (let length = 1; length <= 3 && length <= end; length++) {
    const byte = bytes[end - length] ?? 0
    if (byte < 0x80) return 0
    if (byte < 0xc0) continue
    return length < characterLength(byte) && validPrefix(bytes, end - length, length) ? length : 0
  }
  return 0
}

/** Bytes of the character that `lead` begins; 0 for bytes that begin none. */
function characterLength(lead: number): number {
  if (lead < 0xc2) return 0
  if (lead < 0xe0) return 2
  if (lead < 0xf0) return 3
  return lead < 0xf5 ? 4 : 0
}

/** The second byte is narrower after some leads: no overlong forms, no surrogates, nothing above U+10FFFF. */
function validPrefix(bytes: Uint8Array, start: number, length: number): boolean {
  if (length < 2) return true
  const lead = bytes[start] ?? 0
  const second = bytes[start + 1] ?? 0
  if (lead === 0xe0) return second >= 0xa0
  if (lead === 0xed) return second < 0xa0
  if (lead === 0xf0) return second >= 0x90
  if (lead === 0xf4) return second < 0x90
  return true
}
