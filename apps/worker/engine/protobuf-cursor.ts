/** A place in the bytes of a protobuf message. */
export type Cursor = { readonly bytes: Buffer; at: number }

/** The wire types. */
export const VARINT = 0
const FIXED64 = 1
export const LENGTH = 2
export const FIXED32 = 5

/** Returns the tag of a field with a wire type. */
export const tagOf = (field: number, wireType: number) => field * 8 + wireType

/** Reads a length and returns where that many bytes end. */
export function readEnd(cursor: Cursor): number {
  const length = readVarint(cursor)
  const end = cursor.at + length
  if (end > cursor.bytes.length) throw new Error('protobuf message is cut short')
  return end
}

/** The low 32 bits, unsigned; a varint may have up to ten bytes. */
export function readVarint(cursor: Cursor): number {
  const { bytes } = cursor
  let value = 0
  for (let shift = 0; shift < 70; shift += 7) {
    const byte = bytes[cursor.at++]
    if (byte === undefined) throw new Error('protobuf message is cut short')
    if (shift < 32) value |= (byte & 0x7f) << shift
    if (byte < 0x80) return value >>> 0
  }
  throw new Error('protobuf number is too long')
}

/** Skips the value of a field with this tag. */
export function skip(cursor: Cursor, tag: number): void {
  const wireType = tag & 7
  if (wireType === VARINT) readVarint(cursor)
  else if (wireType === FIXED64) cursor.at += 8
  else if (wireType === LENGTH) cursor.at = readEnd(cursor)
  else if (wireType === FIXED32) cursor.at += 4
  else throw new Error(`protobuf wire type ${wireType} is not known`)
  if (cursor.at > cursor.bytes.length) throw new Error('protobuf message is cut short')
}
