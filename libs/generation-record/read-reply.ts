/**
 * The reply of a script of this folder. It is read field by field and not parsed with a schema: a script of the same
 * release wrote it, and a schema would take 2.6 % of a gateway's CPU time. Each reader throws if the field at `index`
 * has another type; index 0 is the first field after the status.
 */
export type Reply = {
  readonly status: string
  text(index: number): string
  integer(index: number): number
  /**
   * A number with a fraction. Redis can only answer integers, so the script returns such a number as text with 17
   * digits.
   */
  number(index: number): number
}

/** Throws if the reply is not a list that begins with a text. */
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
