import { fileURLToPath } from 'node:url'

/**
 * The folder in which Node keeps the compiled code of every process of this checkout. With this folder, the start of a
 * process takes about 40 % less processor time.
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url))
