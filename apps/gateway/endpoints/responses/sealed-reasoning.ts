import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** The secrets of the deployment, the newest first, and the account to which sealed reasoning belongs. */
export type ReasoningKeys = { readonly secrets: readonly string[]; readonly account: string }

/**
 * `foreign`: the text was not sealed by this deployment, or its secret is no longer known. `broken`: it was changed, or
 * it was sealed for another account.
 */
export type OpenedReasoning =
  | { readonly status: 'opened'; readonly text: string }
  | { readonly status: 'foreign' | 'broken' }

/** The beginning of every sealed text, with the version of its form. Behind it is base64url of the four parts below. */
const PREFIX = 'mrr1.'
const KEY_ID_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16

const CIPHER = 'aes-256-gcm'

/**
 * Encrypts reasoning for the client that will send it back, so that the service keeps no state. The cipher is AES-256-GCM
 * with a random nonce (NIST SP 800-38D, section 8.2.2), and the account is authenticated with the text. Each account has
 * a key of its own, so that the number of texts that one key encrypts stays far below 2^32. The first secret is used.
 */
export function sealReasoning(text: string, { secrets: [secret = ''], account }: ReasoningKeys): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, toKey(secret, account), nonce).setAAD(Buffer.from(account))
  const sealed = [cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
  return PREFIX + Buffer.concat([toKeyId(secret), nonce, ...sealed]).toString('base64url')
}

/** Reads a text that `sealReasoning` returned under any of the secrets. */
export function openReasoning(sealed: string, { secrets, account }: ReasoningKeys): OpenedReasoning {
  if (!sealed.startsWith(PREFIX)) return { status: 'foreign' }
  const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64url')
  const secret = secrets.find((one) => toKeyId(one).equals(bytes.subarray(0, KEY_ID_BYTES)))
  if (secret === undefined) return { status: 'foreign' }
  const begin = KEY_ID_BYTES + NONCE_BYTES
  if (bytes.length < begin + TAG_BYTES) return { status: 'broken' }
  const nonce = bytes.subarray(KEY_ID_BYTES, begin)
  const cipher = createDecipheriv(CIPHER, toKey(secret, account), nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(account))
    .setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    const text = Buffer.concat([cipher.update(bytes.subarray(begin, -TAG_BYTES)), cipher.final()])
    return { status: 'opened', text: text.toString('utf8') }
  } catch {
    return { status: 'broken' }
  }
}

const toKey = (secret: string, account: string) =>
  Buffer.from(hkdfSync('sha256', secret, account, 'millrace reasoning', 32))
const toKeyId = (secret: string) =>
  Buffer.from(hkdfSync('sha256', secret, '', 'millrace reasoning key id', KEY_ID_BYTES))
