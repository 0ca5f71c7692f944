import { z } from 'zod'
import { parseAnswer, type Admin, type Query } from './admin.ts'

/** What billing gives at a time. */
const MAX_PAGE = 500

const Page = z.object({ data: z.array(z.unknown()), nextCursor: z.string().nullable() })
type Page = z.infer<typeof Page>

/** The first `limit` items after the cursor, as one page. */
export async function readPages(
  admin: Admin,
  list: { path: string; query: Query; limit: number; cursor: string | undefined },
): Promise<Page> {
  const { path, query, limit } = list
  const data: unknown[] = []
  let cursor = list.cursor
  for (;;) {
    const size = Math.min(MAX_PAGE, limit - data.length)
    const asked = { ...query, limit: size, cursor }
    const page = parseAnswer(Page, await admin.ask({ method: 'GET', path, query: asked }))
    data.push(...page.data)
    if (page.nextCursor === null || data.length >= limit) return { data, nextCursor: page.nextCursor }
    cursor = page.nextCursor
  }
}
