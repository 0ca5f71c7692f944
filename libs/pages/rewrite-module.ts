import { stripTypeScriptTypes } from 'node:module'
import { Script } from 'node:vm'

/** Matches the import of a module that must run before this one, with the imported names. */
const IMPORT = /(?<=^|;)import\s*(?:\{([^}]*)\}\s*from\s*)?(["'])([^"'\n]+)\2;?/gm

/** Matches the import of a module that is loaded later. */
const LATER = /\bimport\(\s*(["'])([^"'\n]+)\1\s*\)/g

const EXPORT_LIST = /\bexport\s*\{([^}]*)\}(?:\s*from\s*(["'])([^"'\n]+)\2)?;?/g

/**
 * Matches an exported declaration, or a comment, whose text is skipped: some packages keep disabled code in comments.
 */
const EXPORTED_DECLARATION =
  /^[ \t]*\/\*[^]*?\*\/|^export (?=(?:async function|function|const|class) ([\w$]+))/gm

/** Matches a comment that fills whole lines. */
const OWN_LINES = /^[ \t]*(?:\/\*\*[^]*?\*\/|\/\/.*)[ \t]*$/gm

/**
 * Converts TypeScript to JavaScript with the same lines. A comment that fills whole lines becomes empty lines, because
 * a browser has no use for it and it compresses badly. So no line of a multi-line string in a page may begin like a
 * comment.
 */
export function stripTypes(path: string, text: string): string {
  if (!path.endsWith('.ts')) return text
  return stripTypeScriptTypes(text, { mode: 'strip' })
    .replaceAll(OWN_LINES, (comment) => '\n'.repeat(comment.split('\n').length - 1))
    .replaceAll(/[ \t]+$/gm, '')
}

/**
 * Returns the specifiers of a module: the modules that it needs before it runs, and the modules that it loads later.
 */
export function readSpecifiers(text: string): { needed: string[]; later: string[] } {
  return {
    needed: [...text.matchAll(IMPORT), ...text.matchAll(EXPORT_LIST)].flatMap(
      ([, , , specifier]) => specifier ?? [],
    ),
    later: [...text.matchAll(LATER)].map(([, , specifier = '']) => specifier),
  }
}

/**
 * Converts a module to an expression whose value is an object with its exports, so that several modules fit in one
 * file. `needed` returns the expression for a module that it needs; `later` returns the expression for the promise of a
 * module that it loads later. Lines stay as they are. Throws if the module uses a form of `import` or `export` that no
 * page needs (`*`, or a `default` without a list), or `await` outside of a function.
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
    // The expression is parsed but not run. The code of modules is strict.
    void new Script(`'use strict';${expression}`)
  } catch (error) {
    throw new Error(`${path} cannot stand in a file with others`, { cause: error })
  }
  return expression
}

/** Converts imported names to the properties of a destructuring pattern. */
function toProperties(names: string): string {
  return names.replaceAll(/\s+as\s+/g, ': ')
}
