import { fileURLToPath } from 'node:url'

/** Where Node keeps the compiled code of every process of this checkout: a start takes about 40 % less processor time. */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url))
