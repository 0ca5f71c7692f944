import { expect, test } from 'vitest'
import type { Admin, Given } from '#apps/ctl/admin.ts'
import { readPages } from '#apps/ctl/read-pages.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'

/** Creates an admin interface with a list of numbers. The cursor of a page is its last number. */
function adminOf(count: number): { admin: Admin; asked: Given[] } {
  const asked: Given[] = []
  const admin: Admin = {
    async ask(_operation, given) {
      asked.push(given)
      const after = Number(given['cursor'] ?? 0)
      const last = Math.min(count, after + Number(given['limit']))
      const data = Array.from({ length: last - after }, (_, place) => after + place + 1)
      return { data, nextCursor: last < count ? String(last) : null }
    },
    open: () => Promise.reject(new Error('not an export')),
  }
  return { admin, asked }
}

const list = { operation: ADMIN.listAlarms, query: { kind: 'a' }, cursor: undefined }

test('a long list is read page after page, up to the limit', async () => {
  const { admin, asked } = adminOf(2_000)
  const { data, nextCursor } = await readPages(admin, { ...list, limit: 1_200 })
  expect([data.length, data.at(0), data.at(-1), nextCursor]).toEqual([1_200, 1, 1_200, '1200'])
  expect(asked).toEqual([
    { kind: 'a', limit: 500, cursor: undefined },
    { kind: 'a', limit: 500, cursor: '500' },
    { kind: 'a', limit: 200, cursor: '1000' },
  ])
})

test('a list that ends before the limit has no cursor', async () => {
  const { admin, asked } = adminOf(700)
  const { data, nextCursor } = await readPages(admin, { ...list, limit: 5_000 })
  expect([data.length, nextCursor, asked.length]).toEqual([700, null, 2])
})
