import { stripTypeScriptTypes } from 'node:module'
import { Script } from 'node:vm'

/** A module that is needed before this one runs, and the names that are taken from it. */
const IMPORT = /(?<=^|;)import\s*(?:\{([^}]*)\}\s*from\s*)?(["'])([^"'\n]+)\2;?/gm

/** A module that is fetched when the code asks for it. */
const LATER = /\bimport\(\s*(["'])([^"'\n]+)\1\s*\)/g

const EXPORT_LIST = /\bexport\s*\{([^}]*)\}(?:\s*from\s*(["'])([^"'\n]+)\2)?;?/g

/** Or a comment, of which nothing is exported: packages keep code that they no longer use in some. */
const EXPORTED_DECLARATION =
  /^[ \t]*\/\*[^]*?\*\/|^export (?=(?:async function|function|const|class) ([\w$]+))/gm

/** A comment that has its lines to itself. */
const OWN_LINES = /^[ \t]*(?:\/\*\*[^]*?\*\/|\/\/.*)[ \t]*$/gm

/**
 * JavaScript with the lines of the TypeScript. Comments that have their lines to themselves become empty lines, because
 * a browser has no use for them and they compress badly. So no text of several lines in a page may have a line that
 * begins as a comment does.
 */
export function stripTypes(path: string, text: string): string {
  if (!path.endsWith('.ts')) return text
  return stripTypeScriptTypes(text, { mode: 'strip' })
    .replaceAll(OWN_LINES, (comment) => '\n'.repeat(comment.split('\n').length - 1))
    .replaceAll(/[ \t]+$/gm, '')
}

/** Every module that the module names: those that it needs before it runs, and those that it fetches later. */
export function readSpecifiers(text: string): { needed: string[]; later: string[] } {
  return {
    needed: [...text.matchAll(IMPORT), ...text.matchAll(EXPORT_LIST)].flatMap(
      ([, , , specifier]) => specifier ?? [],
    ),
    later: [...text.matchAll(LATER)].map(([, , specifier = '']) => specifier),
  }
}

/**
 * The module as the expression of an object with its exports, so that several modules fit in one file. `needed` gives
 * the expression of a module that it needs, `later` the expression of the promise of a module that it fetches. Every
 * line stays a line. Throws where the module uses a form of `import` or `export` that no page needs (`*`, a `default`
 * without a list), or `await` outside of a function.
 */
export function toExpression(
  path: string,
  text: string,
  { needed, later }: { needed: (specifier: string) => string; later: (specifier: string) => string },
): string {
  const exported: string[] = []
  const body = text
    .replaceAll(IMPORT, (...[, names, , specifier = '']: (string | undefined)[]) =>
      names === undefined ? '' : `const {${toProperties(names)}} = ${needed(specifier)};`,
    )
    .replaceAll(LATER, (_, __, specifier: string) => later(specifier))
    .replaceAll(EXPORTED_DECLARATION, (matched, name: string | undefined) => {
      if (name === undefined) return matched
      exported.push(name)
      return ''
    })
    .replaceAll(EXPORT_LIST, (...[, names = '', , specifier]: (string | undefined)[]) => {
      const from = specifier === undefined ? '' : `${needed(specifier)}.`
      for (const pair of names.split(',').map((each) => each.trim())) {
        const [inside = '', outside = inside] = pair.split(/\s+as\s+/)
        if (inside !== '') exported.push(`${outside}: ${from}${inside}`)
      }
      return ''
    })
  const expression = `(() => {${body}\nreturn { ${exported.join(', ')} }\n})()`
  try {
    // Only read, never run. The code of a module is strict.
    void new Script(`'use strict';${expression}`)
  } catch (error) {
    throw new Error(`${path} cannot stand in a file with others`, { cause: error })
  }
  return expression
}

/** The names of an import as the properties that are taken from an object. */
function toProperties(names: string): string {
  return names.replaceAll(/\s+as\s+/g, ': ')
}
