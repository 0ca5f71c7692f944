import { readFileSync } from 'node:fs'
import { CommandError } from './command-error.ts'
import type { CtlConfig } from './config.ts'
import { openLocalCluster, type LocalCluster } from './local-cluster.ts'

export type Access = { readonly url: string; readonly token: string }

/**
 * Returns billing's address and token: from the options, else from the environment, else from the cluster of a running
 * `npm start`. The token of that cluster is sent only to that cluster. Throws a CommandError if the address or the
 * token is missing.
 */
export function findAccess(
  options: { readonly url?: string | undefined; readonly tokenFile?: string | undefined },
  config: CtlConfig,
): Access {
  const local = openLocalCluster(config)
  const givenUrl = options.url ?? config.MILLRACE_ADMIN_URL
  const url = givenUrl === undefined ? findLocalUrl(local) : assertUrl(givenUrl)
  const token =
    options.tokenFile === undefined ? config.MILLRACE_ADMIN_TOKEN : readTokenFile(options.tokenFile)
  if (token !== undefined) return { url, token: assertToken(token) }
  if (givenUrl === undefined) return { url, token: readLocalToken(local) }
  throw new CommandError('usage', `No token for ${url}: set MILLRACE_ADMIN_TOKEN, or give --token-file.`)
}

function findLocalUrl(local: LocalCluster): string {
  const url = local.address('admin')
  if (url !== undefined) return url
  throw new CommandError(
    'usage',
    `No npm start runs in ${local.home}: start one, or give the address of billing with --url or MILLRACE_ADMIN_URL.`,
  )
}

function readLocalToken(local: LocalCluster): string {
  const { adminToken } = local.secrets()
  if (adminToken !== undefined) return adminToken
  throw new CommandError(
    'usage',
    `${local.secretsPath} cannot be read: set MILLRACE_ADMIN_TOKEN, or give --token-file.`,
  )
}

function assertUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === ''
  if (isPlain && /^https?:$/.test(url.protocol)) return text
  throw new CommandError(
    'usage',
    'The URL of billing is wrong: expected a URL such as http://127.0.0.1:8090.',
  )
}

function readTokenFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new CommandError('usage', `The token file ${path} cannot be read.`, { cause: error })
  }
}

/** Throws for a token that an HTTP header cannot carry. The token is never printed. */
function assertToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new CommandError('usage', 'The token is wrong: expected one line of printable characters.')
}
