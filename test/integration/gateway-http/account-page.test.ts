import { expect, test } from 'vitest'
import { loadAccountPage } from '#apps/gateway/http/account-page.ts'
import { ASSET_HEADERS, PAGE_HEADERS } from '#libs/pages/page-headers.ts'
import { always, END, serveApp } from './gateway-app.ts'

test('the page is public, has the strict policy, and only files with their hash in the address are kept', async () => {
  const { url } = await serveApp(always([END]))
  const response = await fetch(new URL('/account', url))
  expect(response.status).toBe(200)
  const headers = Object.fromEntries(response.headers)
  expect(headers).toMatchObject({ ...PAGE_HEADERS, 'cache-control': 'no-store' })
  expect(headers['content-type']).toBe('text/html; charset=utf-8')
  expect(headers['x-request-id']).toBeDefined()

  const [, main = ''] = /src="(account\/assets\/main\.[\w-]+\.js)"/.exec(await response.text()) ?? []
  const asset = await fetch(new URL(main, new URL('/account', url)), {
    headers: { 'accept-encoding': 'br' },
  })
  expect(Object.fromEntries(asset.headers)).toMatchObject({
    ...ASSET_HEADERS,
    'content-encoding': 'br',
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
  })
})

test('a file that the page does not have is a 404, as every other path', async () => {
  const { url } = await serveApp(always([END]))
  for (const path of ['/account/', '/account/assets/main.js', '/account/assets/..%2f..%2fmain.ts']) {
    const response = await fetch(new URL(path, url))
    expect([path, response.status, await response.json()]).toMatchObject([
      path,
      404,
      { error: { code: 'invalid_request' } },
    ])
  }
})

test('the page is 40 KB at most, with everything that any of its screens loads', async () => {
  const { html, assets } = await loadAccountPage()
  const bytes = [html, ...assets.values()].reduce((sum, { br }) => sum + br.byteLength, 0)
  expect(assets.size).toBeGreaterThan(8)
  expect(bytes).toBeLessThan(40_000)
})
