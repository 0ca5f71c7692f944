import { ADMIN_TOKEN } from '../billing/support/billing-database.ts'
import { test as base } from '../billing/support/billing-test.ts'
import { millrace } from './millrace.ts'

/** A `test` for commands of the operators. `command` runs one against billing on the file's database. */
export const test = base
  .extend('access', { scope: 'file' }, async ({ fileDatabase }) => ({
    MILLRACE_ADMIN_URL: await fileDatabase.admin.listen({ port: 0, host: '127.0.0.1' }),
    MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN,
  }))
  .extend(
    'command',
    ({ access }) =>
      (...words: string[]) =>
        millrace(words, access),
  )
  /** Returns the text that a command prints for people. */
  .extend('shown', ({ command }) => async (...words: string[]) => {
    const { code, stdout, stderr } = await command(...words)
    if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`)
    return stdout
  })
