import type { Route } from '#libs/page-parts/route.ts'
import type { OpenScreen } from './app.ts'

/** The modules of the screens, by the first part of the address. A module is fetched when a viewer opens its screen. */
const SCREENS: Readonly<Record<string, () => Promise<{ open: OpenScreen }>>> = {
  overview: () => import('./views/overview.ts'),
  requests: () => import('./views/requests.ts'),
  request: () => import('./views/request.ts'),
  keys: () => import('./views/keys.ts'),
  use: () => import('./views/use.ts'),
}

export async function findScreen({ path }: Route): Promise<OpenScreen> {
  const find = SCREENS[path[0] ?? 'overview'] ?? (async () => await import('./views/not-found.ts'))
  const { open } = await find()
  return open
}
