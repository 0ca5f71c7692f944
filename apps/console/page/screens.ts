import type { Route } from '#libs/page-parts/route.ts'
import type { OpenScreen } from './app.ts'

/** The first part of an address, and the module with its screen, which is loaded when a viewer opens it. */
const SCREENS: Readonly<Record<string, () => Promise<{ open: OpenScreen }>>> = {
  now: () => import('./views/now.ts'),
  model: () => import('./views/model.ts'),
  workers: () => import('./views/workers.ts'),
  request: () => import('./views/request.ts'),
  requests: () => import('./views/requests.ts'),
  accounts: () => import('./views/accounts.ts'),
  account: () => import('./views/account.ts'),
  money: () => import('./views/money.ts'),
  catalog: () => import('./views/catalog.ts'),
  log: () => import('./views/log.ts'),
  find: () => import('./views/find.ts'),
  'first-steps': () => import('./views/first-steps.ts'),
}

export async function findScreen({ path }: Route): Promise<OpenScreen> {
  const find = SCREENS[path[0] ?? 'now'] ?? (async () => await import('./views/not-found.ts'))
  const { open } = await find()
  return open
}
