import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY } from './repository.mjs'
import { SetupError } from './fail.mjs'
import { runNodeQuietly } from './run-node.mjs'

const GENERATOR = 'scripts/generate-proto-types.ts'

/** The other files that determine the generated types: they contain the options and the generator's version. */
const OPTIONS = ['libs/grpc/load-proto.ts', 'node_modules/@grpc/proto-loader/package.json']

/** The file in proto/types/ with the hash of the sources from which the types were generated. */
const STAMP = join(REPOSITORY, 'proto/types/.sources.sha256')

/**
 * Generates proto/types/ unless it exists and its sources are unchanged. Compilers, linters and editors need these
 * types; the apps run without them.
 */
export async function ensureProtoTypes() {
  const sources = hashOfSources()
  if (readStamp() === sources) return
  const { code, output } = await runNodeQuietly([GENERATOR])
  if (code !== 0) throw new SetupError(`The types of proto/*.proto cannot be generated.\n${output.trim()}`)
  writeFileSync(STAMP, sources)
}

function hashOfSources() {
  const protos = readdirSync(join(REPOSITORY, 'proto')).filter((name) => name.endsWith('.proto'))
  const files = [...protos.toSorted().map((name) => `proto/${name}`), GENERATOR, ...OPTIONS]
  const hash = createHash('sha256')
  for (const file of files) {
    const content = readFileSync(join(REPOSITORY, file))
    hash.update(`${file}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

function readStamp() {
  try {
    return readFileSync(STAMP, 'utf8')
  } catch {
    return undefined
  }
}
