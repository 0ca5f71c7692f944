import { z } from 'zod'
import type { ReadOperation } from '#libs/admin-contract/operation.ts'
import { MAX_LIMIT } from '#libs/admin-contract/list-page.ts'
import { parseAnswer, type Admin, type Given } from './admin.ts'

const Page = z.looseObject({ data: z.array(z.unknown()), nextCursor: z.string().nullable() })
type Page = z.infer<typeof Page>

/**
 * Returns the first `limit` items after the cursor as one page. If `limit` is above `MAX_LIMIT`, billing is asked for
 * several pages, and their items are joined. All fields but `data` are from the last of these pages.
 */
export async function readPages(
  admin: Admin,
  list: { operation: ReadOperation; query: Given; limit: number; cursor: string | undefined },
): Promise<Page> {
  const { operation, query, limit } = list
  const data: unknown[] = []
  let cursor = list.cursor
  for (;;) {
    const size = Math.min(MAX_LIMIT, limit - data.length)
    const page = parseAnswer(Page, await admin.ask(operation, { ...query, limit: size, cursor }))
    data.push(...page.data)
    if (page.nextCursor === null || data.length >= limit) return { ...page, data }
    cursor = page.nextCursor
  }
}
