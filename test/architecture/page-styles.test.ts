import { expect, test } from 'vitest'
import { sourceFiles } from './source-files.ts'

test('no template of a page has a style attribute: the policy of the page would refuse it', () => {
  const files = sourceFiles('{apps/*/page,libs/page-parts}/**/*.ts')
  expect(files.filter(({ text }) => /\sstyle=/.test(text)).map(({ path }) => path)).toEqual([])
})
