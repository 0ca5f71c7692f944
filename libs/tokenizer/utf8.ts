/**
 * Returns how many of the last bytes of `bytes[0, end)` begin an incomplete UTF-8 character (0 to 3). Bytes that cannot
 * become a character do not count: a lenient decoder replaces them, whatever follows. So if the bytes before this tail
 * and the bytes from the tail on are decoded separately, the text is the same as if they were decoded together.
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

/** Returns the length in bytes of the character that `lead` begins, or 0 if `lead` begins no character. */
function characterLength(lead: number): number {
  if (lead < 0xc2) return 0
  if (lead < 0xe0) return 2
  if (lead < 0xf0) return 3
  return lead < 0xf5 ? 4 : 0
}

/**
 * Returns false if the second byte cannot follow the lead byte. Some lead bytes restrict it, to exclude overlong forms,
 * surrogates and values above U+10FFFF.
 */
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
