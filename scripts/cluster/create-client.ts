import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { createAdminClient } from '#libs/admin-contract/admin-client.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { readJson, writePrivate } from './private-file.ts'

const Account = z.object({ id: z.string() })
const CREDITS = '100'

/**
 * Creates an account with credits through billing's admin interface, and a key in client.env. Later starts reuse both;
 * with a new database they are created again. Resolves with the key.
 */
export async function createClient(options: {
  home: string
  adminUrl: string
  adminToken: string
  baseUrl: string
}): Promise<string> {
  const { home, baseUrl } = options
  const admin = createAdminClient({ url: options.adminUrl, token: options.adminToken })
  const accountPath = join(home, 'account.json')
  const clientPath = join(home, 'client.env')
  const known = readJson(accountPath, Account)
  const isKnown = known !== undefined && (await admin.find(ADMIN.readAccount, { account: known.id })) !== null
  const account = (isKnown ? known : await admin.call(ADMIN.createAccount, { name: 'demo' })).id
  if (!isKnown) writePrivate(accountPath, JSON.stringify({ id: account }))
  // The idempotency key is the same at every start. So the account gets the credits exactly once, even if an earlier
  // start created the account and then ended, whether before or after this call.
  await admin.call(ADMIN.topUp, {
    account,
    credits: CREDITS,
    idempotencyKey: 'first-start',
    reason: 'demo credits',
  })
  const secret =
    (isKnown ? readSecret(clientPath) : undefined) ??
    (await admin.call(ADMIN.createKey, { account, name: 'npm start' })).secret
  writePrivate(clientPath, `OPENAI_BASE_URL=${baseUrl}\nOPENAI_API_KEY=${secret}\n`)
  return secret
}

function readSecret(path: string): string | undefined {
  try {
    return /^OPENAI_API_KEY=(\S+)$/m.exec(readFileSync(path, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}
