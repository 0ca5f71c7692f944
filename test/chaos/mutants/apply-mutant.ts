// Loaded with `node --import` before an app. Changes the sources as Node reads them, by the mutant that the environment
// names.
import fs from 'node:fs'
import { registerHooks, syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'
import { MUTANT_VARIABLE, MUTANTS, readMutated } from './mutants.ts'
import { PAY_MUTANTS } from './pay-mutants.ts'

const name = process.env[MUTANT_VARIABLE]
const mutant = [...MUTANTS, ...PAY_MUTANTS].find((each) => each.name === name)
if (mutant === undefined) throw new Error(`there is no mutant ${name}`)
const sources = readMutated(mutant)

registerHooks({
  load(url, context, nextLoad) {
    const source = url.startsWith('file:') ? sources.get(fileURLToPath(url)) : undefined
    const loaded = nextLoad(url, context)
    return source === undefined ? loaded : { ...loaded, source }
  },
})

// Lua and SQL are read as files.
const { readFileSync } = fs
const toPath = (path: unknown) =>
  path instanceof URL && path.protocol === 'file:' ? fileURLToPath(path) : path
const read = (...args: Parameters<typeof readFileSync>) => {
  const path = toPath(args[0])
  const source = typeof path === 'string' ? sources.get(path) : undefined
  return source ?? readFileSync(...args)
}
Object.assign(fs, { readFileSync: read })
syncBuiltinESMExports()
