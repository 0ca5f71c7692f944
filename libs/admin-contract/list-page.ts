import { z } from 'zod'
import { countIn } from './fields.ts'

const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 500

/** The query of every list: how many items, and the `nextCursor` of an earlier answer. */
export const PAGE = {
  limit: countIn({ min: 1, max: MAX_LIMIT }).default(DEFAULT_LIMIT),
  cursor: z.string().max(1_000).optional(),
}

export function pageOf<Item extends z.ZodType>(name: string, item: Item) {
  return z.object(pageFields(item)).meta({ id: name })
}

/** The fields of a page, for an answer that has others too. */
export function pageFields<Item extends z.ZodType>(item: Item) {
  return {
    data: z.array(item),
    nextCursor: z.string().nullable().meta({ description: 'Of the next page; null on the last page.' }),
  }
}
