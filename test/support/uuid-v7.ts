import { randomBytes } from 'node:crypto'

/** Returns a UUIDv7 as a gateway makes it at the given Unix time in milliseconds. */
export function uuidV7(atMs: number): string {
  const random = randomBytes(10).toString('hex')
  const ms = atMs.toString(16).padStart(12, '0')
  const variant = (8 + (Number.parseInt(random.slice(3, 4), 16) % 4)).toString(16)
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`
}
