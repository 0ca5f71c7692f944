/**
 * The reply of a script of this folder, which is read field by field: a script of this same release wrote it, so a schema
 * would check what is known already, for 2.6 % of a gateway's CPU time. Each reader throws where the field at `index` (0 is
 * the first after the status) is something else.
 */
export type Reply = {
  readonly status: string
  text(index: number): string
  integer(index: number): number
  /** A number with a fraction: Redis answers only integers, so the script returns it as text with 17 digits. */
  number(index: number): number
}

/** Throws when it is not a list that begins with a text. */
export function readReply(reply: unknown): Reply {
  const fields: readonly unknown[] = Array.isArray(reply) ? reply : []
  const [status] = fields
  if (typeof status !== 'string') throw toUnexpected(reply)
  const text = (index: number) => {
    const field = fields[index + 1]
    if (typeof field !== 'string') throw toUnexpected(reply)
    return field
  }
  return {
    status,
    text,
    integer(index) {
      const field = fields[index + 1]
      if (!Number.isSafeInteger(field)) throw toUnexpected(reply)
      return Number(field)
    },
    number(index) {
      const value = Number(text(index) || NaN)
      if (!Number.isFinite(value)) throw toUnexpected(reply)
      return value
    },
  }
}

/** The error for an unexpected status or field. It shows only the types of the fields, because one may be a prompt. */
export function toUnexpected(reply: unknown): Error {
  if (!Array.isArray(reply)) return new TypeError(`a script answered with no list: ${typeof reply}`)
  const [status, ...fields]: unknown[] = reply
  const types = fields.map((field) => typeof field).join(', ')
  return new TypeError(`a script answered ${JSON.stringify(status)} with these fields: ${types}`)
}
