import { expect, test } from 'vitest'
import { sourceFiles } from './source-files.ts'

/**
 * The inputs whose schemas may refuse an unknown field: a person wrote them, or they are files of an engine's model, so
 * an unknown field is a mistake. Every other input comes from a process that may have another release. Its unknown
 * fields are ignored.
 */
const STRICT: readonly { readonly path: RegExp; readonly reads: string }[] = [
  {
    path: /^libs\/account-contract\/resources\/[\w-]+\.ts$/,
    reads: 'bodies of the public interface',
  },
  {
    path: /^apps\/gateway\/endpoints\/fields\/(?:reasoning-switches|structured-outputs|text-format)\.ts$/,
    reads: 'fields of the public interface, of which nothing may be ignored',
  },
  { path: /^apps\/console\/http\/sign-in\.ts$/, reads: 'the body of the page’s sign-in' },
  { path: /^libs\/admin-contract\/resources\/[\w-]+\.ts$/, reads: 'operators’ requests' },
  {
    path: /^libs\/http-contract\/operation\.ts$/,
    reads: 'parts of a request in which an operation has no field',
  },
  { path: /^apps\/ctl\/(?:command|resources\/[\w-]+)\.ts$/, reads: 'options of the command line' },
  {
    path: /^apps\/ctl\/archive\/manifest\.ts$/,
    reads: 'files of an archive, of which nothing may be unread',
  },
  { path: /^apps\/(?:worker|simulator)\/config\.ts$/, reads: 'settings' },
  { path: /^apps\/simulator\/(?:faults|behaviour)\.ts$/, reads: 'settings of the simulator' },
  { path: /^apps\/scaler\/scaler-models\.ts$/, reads: 'settings of the scaler' },
  { path: /^libs\/contracts\/model-spec\.ts$/, reads: 'catalog files' },
  { path: /^libs\/model-files\/(?:check-chats|model-manifest)\.ts$/, reads: 'files of a model' },
  { path: /^libs\/tokenizer\/decoding\/decoder-steps\.ts$/, reads: 'the tokenizer of a model' },
  { path: /^libs\/dialect\/family\.ts$/, reads: 'settings of a model' },
]

const isStrict = (text: string) => /\bstrictObject\b|\.strict\(\)/.test(text)
const mayBeStrict = (path: string) => STRICT.some((allowed) => allowed.path.test(path))

const sources = sourceFiles('{apps,libs}/**/*.ts')

test('what another process wrote is read without the fields that this release does not know', () => {
  const strict = sources.filter(({ path, text }) => isStrict(text) && !mayBeStrict(path))
  expect(strict.map(({ path }) => path)).toEqual([])
})

test.each(STRICT)('there are schemas that refuse unknown fields of $reads', ({ path }) => {
  expect(sources.some((source) => path.test(source.path) && isStrict(source.text))).toBe(true)
})

test.each(['z.strictObject({ a })', 'z.object({ a }).strict()'])('the check finds %s', (text) => {
  expect(isStrict(text)).toBe(true)
})
