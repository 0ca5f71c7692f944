/**
 * Writes one protobuf message at a time into a buffer that is reused: encoding by reflection costs more than the rest
 * of a step with hundreds of streams. Fields may be written in any order. 0 and empty lists are not written, as proto3
 * prescribes for fields without presence.
 */
export type ProtobufWriter = {
  varint(field: number, value: number): void
  /** Also writes 0, for members of a oneof, whose presence has a meaning. */
  presentVarint(field: number, value: number): void
  /** Also writes '', for members of a oneof, whose presence has a meaning. */
  presentText(field: number, value: string): void
  /** Also writes 0, for optional fields. */
  presentFloat(field: number, value: number): void
  packedVarints(field: number, values: ArrayLike<number>): void
  packedFloats(field: number, values: ArrayLike<number>): void
  message(field: number, write: () => void): void
  /** Returns a copy of the message and empties the writer. */
  finish(): Buffer
}

export function createProtobufWriter(): ProtobufWriter {
  let buffer = Buffer.allocUnsafe(4_096)
  let at = 0

  function reserve(bytes: number): void {
    if (at + bytes <= buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, at + bytes))
    buffer.copy(larger, 0, 0, at)
    buffer = larger
  }

  function raw(value: number): void {
    reserve(10)
    let rest = value
    while (rest >= 0x80) {
      buffer[at++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    buffer[at++] = rest
  }

  function tag(field: number, wireType: number): void {
    raw(field * 8 + wireType)
  }

  /** Writes `content`, then moves it to make room for its length, which is known only then. */
  function delimited(field: number, content: () => void): void {
    tag(field, LENGTH_DELIMITED)
    const start = at
    content()
    const length = at - start
    const room = varintSize(length)
    reserve(room)
    buffer.copyWithin(start + room, start, at)
    at = start
    raw(length)
    at += length
  }

  function varint(field: number, value: number): void {
    tag(field, VARINT)
    raw(value)
  }

  return {
    varint(field, value) {
      if (value !== 0) varint(field, value)
    },
    presentVarint: varint,
    presentText(field, value) {
      delimited(field, () => {
        reserve(value.length * 3)
        at += buffer.write(value, at)
      })
    },
    presentFloat(field, value) {
      tag(field, FIXED32)
      reserve(4)
      at = buffer.writeFloatLE(value, at)
    },
    packedVarints(field, values) {
      if (values.length === 0) return
      delimited(field, () => {
        for (let i = 0; i < values.length; i++) raw(values[i] ?? 0)
      })
    },
    packedFloats(field, values) {
      if (values.length === 0) return
      delimited(field, () => {
        reserve(values.length * 4)
        for (let i = 0; i < values.length; i++) at = buffer.writeFloatLE(values[i] ?? 0, at)
      })
    },
    message: delimited,
    finish() {
      const bytes = Buffer.from(buffer.subarray(0, at))
      at = 0
      return bytes
    },
  }
}

const VARINT = 0
const LENGTH_DELIMITED = 2
const FIXED32 = 5

function varintSize(value: number): number {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1
  return size
}
