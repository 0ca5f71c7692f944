import { z } from 'zod'
import { Settlement } from '#libs/contracts/settlement.ts'

/** A settlement with the rules of billing, which its schema does not have. */
const BillableSettlement = Settlement.extend({ id: z.uuid() }).refine(
  (settlement) => settlement.cachedTokens <= settlement.promptTokens,
  { message: 'more cached than prompt tokens' },
)

/**
 * Reads an entry's flat list of names and values. Fields that this version does not know are ignored; another version
 * has added them.
 */
export function parseSettlement(
  fields: readonly string[],
): { readonly settlement: Settlement } | { readonly problem: string } {
  const names = fields.filter((_, index) => index % 2 === 0)
  const values = new Map(names.map((name, index) => [name, fields[index * 2 + 1]]))
  // An empty text would be converted to the number zero.
  if (FIELDS.some((name) => values.get(name) === '')) return { problem: 'a field is empty' }
  const result = BillableSettlement.safeParse(Object.fromEntries(values))
  return result.success ? { settlement: result.data } : { problem: z.prettifyError(result.error) }
}

const FIELDS = Object.keys(Settlement.shape)
