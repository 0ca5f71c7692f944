const ID_BYTES = 4

/** Returns token ids as they are stored: unsigned 32 bit integers, little endian. */
export function packIds(ids: Uint32Array): Buffer {
  const bytes = Buffer.alloc(ids.length * ID_BYTES)
  for (const [index, id] of ids.entries()) bytes.writeUInt32LE(id, index * ID_BYTES)
  return bytes
}

/** Returns a copy, because the bytes of a Redis reply need not be aligned. */
export function unpackIds(bytes: Buffer): Uint32Array {
  return Uint32Array.from({ length: bytes.length / ID_BYTES }, (_, index) =>
    bytes.readUInt32LE(index * ID_BYTES),
  )
}
