import { stripTypeScriptTypes } from 'node:module'

/** Every way to name a module in the code that is left when the types are gone. */
const SPECIFIER = /(\bfrom\s*|\bimport\s*(\()?\s*)(["'])([^"'\n]+)\3/g

/** JavaScript with the lines and columns of the TypeScript, so that no source map is needed. */
export function stripTypes(path: string, text: string): string {
  return path.endsWith('.ts') ? stripTypeScriptTypes(text, { mode: 'strip' }) : text
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
