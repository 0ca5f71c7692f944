/**
 * The reply of a script of this folder, which is read field by field: a script of this same release wrote it, so a schema
 * would check again what is known, for 2 % of a gateway's CPU time. What is not of the form throws all the same.
 */
export type Reply = {
  readonly status: string
  /** All throw where the field at `index`, which begins with 0 after the status, is something else. */
  text(index: number): string
  integer(index: number): number
  /** A number that Redis cannot answer as one: as text, with all its digits. */
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

/** For a status that no branch expects, too. */
export function toUnexpected(reply: unknown): Error {
  return new TypeError(`a script answered ${JSON.stringify(reply)}`)
}
