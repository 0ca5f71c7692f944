import { z } from 'zod'
import { Settlement } from '#libs/contracts/settlement.ts'

/** Rules for a settlement beyond its schema. */
const BillableSettlement = Settlement.extend({ id: z.uuid() }).refine(
  (settlement) => settlement.cachedTokens <= settlement.promptTokens,
  { message: 'more cached than prompt tokens' },
)

/** Reads an entry's flat list of names and values. Fields that another release has added are ignored. */
export function parseSettlement(
  fields: readonly string[],
): { readonly settlement: Settlement } | { readonly problem: string } {
  const names = fields.filter((_, index) => index % 2 === 0)
  const values = new Map(names.map((name, index) => [name, fields[index * 2 + 1]]))
  // Converted to a number, an empty text would be zero.
  if (FIELDS.some((name) => values.get(name) === '')) return { problem: 'a field is empty' }
  const result = BillableSettlement.safeParse(Object.fromEntries(values))
  return result.success ? { settlement: result.data } : { problem: z.prettifyError(result.error) }
}

const FIELDS = Object.keys(Settlement.shape)
