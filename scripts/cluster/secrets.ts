import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { SetupError } from '../servers/setup-error.ts'
import { readJson, writePrivate } from './private-file.ts'

const Secrets = z.strictObject({
  redisPassword: z.string(),
  postgresPassword: z.string(),
  adminToken: z.string(),
  receiptSecret: z.string(),
})
export type Secrets = z.infer<typeof Secrets>

/** Returns the passwords between the parts of this cluster, made on the first start. */
export function loadSecrets(home: string): Secrets {
  const path = join(home, 'secrets.json')
  const known = readJson(path, Secrets)
  if (known !== undefined) return known
  if (existsSync(join(home, 'account.json'))) {
    // A new password could not open the database, which keeps the old one.
    throw new SetupError(`${path} is missing; restore it, or set MILLRACE_HOME to a new folder.`)
  }
  const secrets = {
    redisPassword: secret(),
    postgresPassword: secret(),
    adminToken: secret(),
    receiptSecret: secret(),
  }
  writePrivate(path, JSON.stringify(secrets))
  return secrets
}

function secret(): string {
  return randomBytes(24).toString('hex')
}
