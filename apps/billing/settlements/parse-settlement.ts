import { z } from 'zod'
import { Settlement } from '#libs/contracts/settlement.ts'

/** Rules for a settlement beyond its schema. */
const BillableSettlement = Settlement.extend({ id: z.uuid() }).refine(
  (settlement) => settlement.cachedTokens <= settlement.promptTokens,
  { message: 'more cached than prompt tokens' },
)

/** Reads an entry's flat list of names and values. */
export function parseSettlement(
  fields: readonly string[],
): { readonly settlement: Settlement } | { readonly problem: string } {
  // Converted to a number, an empty text would be zero.
  if (fields.includes('')) return { problem: 'a field is empty' }
  const names = fields.filter((_, index) => index % 2 === 0)
  const result = BillableSettlement.safeParse(
    Object.fromEntries(names.map((name, index) => [name, fields[index * 2 + 1]])),
  )
  return result.success ? { settlement: result.data } : { problem: z.prettifyError(result.error) }
}
