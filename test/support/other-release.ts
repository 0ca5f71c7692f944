import { fileURLToPath, pathToFileURL } from 'node:url'

const HOOKS = fileURLToPath(new URL('../fixtures/other-release/hooks.ts', import.meta.url))

/** The environment that makes an app behave as another release: see `test/fixtures/other-release/`. */
export const OTHER_RELEASE = { NODE_OPTIONS: `--import=${pathToFileURL(HOOKS).href}` } as const

/** The environment of an app of this release, in a cluster whose apps are of another one. */
export const THIS_RELEASE = { NODE_OPTIONS: '' } as const
