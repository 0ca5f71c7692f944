import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** The Node that runs the apps, the tests and the tools: npm installs it with the dependencies. */
export const NODE = join(REPOSITORY, 'node_modules/.bin/node')
