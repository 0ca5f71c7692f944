import { readFileSync } from 'node:fs'
import { basename, relative, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { BuildOptions, BuildResult, Plugin } from 'esbuild'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** The time limit for bundling one page, which takes less than a second on an idle machine. */
const LIMIT_MS = 60_000

/** The specifier of the module that imports every shared module. */
const SHARED = 'millrace:shared'

const OPTIONS = {
  absWorkingDir: REPOSITORY,
  // Symbolic links are not resolved, because the paths of modules are compared with folders of the repository, and the
  // repository's node_modules may be a link to a folder elsewhere.
  preserveSymlinks: true,
  bundle: true,
  splitting: true,
  format: 'esm',
  // Names stay, so that a stack trace of a browser can be read.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  charset: 'utf8',
  loader: { '.svg': 'copy' },
  entryNames: '[name].[hash]',
  chunkNames: '[name].[hash]',
  assetNames: '[name].[hash]',
  outdir: '/',
  write: false,
  metafile: true,
  logLevel: 'silent',
  // The image has no tsconfig.json, so no tsconfig.json may change the output.
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
} as const satisfies BuildOptions

type Natural = BuildResult<typeof OPTIONS>

/** A file that was made. Its name contains the hash of its text and of the files that it imports. */
export type BundledFile = {
  readonly name: string
  readonly text: string
  /** The path of the entry, or of the module that is loaded later; undefined for the shared file. */
  readonly entry: string | undefined
  /** The names of the files that must be loaded before the code of this file runs. */
  readonly needs: ReadonlySet<string>
}

/** The number of calls in progress. They all use the same process of esbuild. */
let running = 0

/**
 * Bundles scripts, style sheets and pictures with everything that they import. Modules are joined into few files,
 * because each file costs a request and compresses separately. Each script, and each module that is loaded later, has a
 * file with the modules that only it needs. The modules that several of these files need are in one shared file.
 * Imports from outside of `folders` are refused, so that a page cannot contain other files of this repository. Throws
 * for such an import, and for each error and warning of esbuild.
 */
export async function bundleFiles(
  entries: readonly string[],
  folders: readonly string[],
): Promise<readonly BundledFile[]> {
  // esbuild is loaded here, so that a process does not load it before its page is visited.
  const { build, stop } = await import('esbuild')
  const options = { ...OPTIONS, entryPoints: [...entries] }
  async function buildTwice(): Promise<readonly BundledFile[]> {
    const natural = await build(options)
    refuse(natural, folders)
    return toFiles(await build({ ...options, plugins: [joinShared(natural)] }))
  }

  const finished = new AbortController()
  running += 1
  try {
    return await Promise.race([buildTwice(), expire(finished.signal)])
  } finally {
    running -= 1
    finished.abort()
    // esbuild's process is stopped, so that it does not stay in memory. It is stopped after the last call, because a
    // call in progress would never end without it.
    if (running === 0) await stop()
  }
}

async function expire(signal: AbortSignal): Promise<never> {
  await setTimeout(LIMIT_MS, undefined, { signal })
  throw new Error(`esbuild did not bundle the page within ${LIMIT_MS / 1_000} s`)
}

function refuse({ metafile, warnings }: Natural, folders: readonly string[]): void {
  const isAllowed = (path: string) =>
    folders.some((folder) => !relative(folder, resolve(REPOSITORY, path)).startsWith('..'))
  // An address of another host is in no folder, so it is refused too.
  const foreign = Object.entries(metafile.inputs).flatMap(([importer, { imports }]) =>
    imports
      .filter(({ path }) => !isAllowed(path))
      .map(({ path, original = path }) => ({ importer, original })),
  )
  // A foreign import is an import of a file outside `folders`. The imported file may itself have foreign imports. So a
  // foreign import in an allowed file is reported first, because it is the cause of the others.
  const first = foreign.find(({ importer }) => isAllowed(importer)) ?? foreign[0]
  if (first !== undefined) throw new Error(`${first.importer} may not import ${first.original}`)
  for (const { text, location } of warnings) throw new Error(`${location?.file}:${location?.line}: ${text}`)
}

/**
 * Makes a plugin that joins the shared modules into one file. esbuild makes a file for every combination of entries
 * that share a module. The plugin makes every entry import all shared modules, so there is one combination.
 */
function joinShared({ metafile }: Natural): Plugin {
  const outputs = Object.values(metafile.outputs)
  const entries = new Set(outputs.flatMap(({ entryPoint }) => toPath(entryPoint) ?? []))
  const shared = outputs.flatMap(({ entryPoint, inputs }) =>
    entryPoint === undefined ? Object.keys(inputs) : [],
  )
  const contents = shared
    .map((path) => `import '${toPath(path)}'\n`)
    .toSorted()
    .join('')
  return {
    name: 'join-shared',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^millrace:shared$/ }, ({ path }) => ({ path, namespace: SHARED }))
      onLoad({ filter: /^/, namespace: SHARED }, () => ({ contents, resolveDir: REPOSITORY }))
      onLoad({ filter: /\.ts$/ }, ({ path }) =>
        entries.has(path)
          ? { contents: `import '${SHARED}'\n${readFileSync(path, 'utf8')}`, loader: 'ts' }
          : undefined,
      )
    },
  }
}

function toFiles({ metafile, outputFiles }: Natural): readonly BundledFile[] {
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]))
  return outputFiles.map(({ path, text }) => {
    const name = basename(path)
    const needs = new Set([name])
    // The set grows during the loop.
    for (const each of needs) {
      for (const { path: needed, kind } of outputs.get(each)?.imports ?? []) {
        if (kind === 'import-statement') needs.add(basename(needed))
      }
    }
    needs.delete(name)
    return { name, text, entry: toPath(outputs.get(name)?.entryPoint), needs }
  })
}

/** Converts a path of the metafile, which is relative to the repository. */
function toPath(path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(REPOSITORY, path)
}
