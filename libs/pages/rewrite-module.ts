import { stripTypeScriptTypes } from 'node:module'

/** Every way to name a module in the code that is left when the types are gone. */
const SPECIFIER = /(\bfrom\s*|\bimport\s*(\()?\s*)(["'])([^"'\n]+)\3/g

/** A comment that has its lines to itself. */
const OWN_LINES = /^[ \t]*(?:\/\*\*[^]*?\*\/|\/\/.*)[ \t]*$/gm

/**
 * JavaScript with the lines of the TypeScript, so that no source map is needed. Comments that have their lines to
 * themselves become empty lines, because a browser has no use for them and they compress badly. So no text of several
 * lines in a page may have a line that begins as a comment does.
 */
export function stripTypes(path: string, text: string): string {
  if (!path.endsWith('.ts')) return text
  return stripTypeScriptTypes(text, { mode: 'strip' })
    .replaceAll(OWN_LINES, (comment) => '\n'.repeat(comment.split('\n').length - 1))
    .replaceAll(/[ \t]+$/gm, '')
}

/** Every module that the module names. */
export function readSpecifiers(text: string): string[] {
  return [...text.matchAll(SPECIFIER)].map(([, , , , specifier = '']) => specifier)
}

/**
 * The module with every specifier replaced. A `static` one is needed before the module runs, a `dynamic` one when it
 * asks for it.
 */
export function rewriteSpecifiers(
  text: string,
  replace: (specifier: string, kind: 'static' | 'dynamic') => string,
): string {
  return text.replaceAll(
    SPECIFIER,
    (...[, before = '', bracket, quote = '', specifier = '']: (string | undefined)[]) =>
      before + quote + replace(specifier, bracket === undefined ? 'static' : 'dynamic') + quote,
  )
}
