import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../command-error.ts'
import type { CtlConfig } from '../config.ts'
import { openLocalCluster } from '../local-cluster.ts'

/** The address of a gateway, including /v1, and an API key. */
export type ClientAccess = { readonly baseUrl: string; readonly apiKey: string }

const DEFAULT_URL = 'http://127.0.0.1:8080/v1'

/**
 * Returns the address OPENAI_BASE_URL and the key OPENAI_API_KEY, if that key is set. Otherwise returns the address and
 * the key that `npm start` wrote to client.env. The key in client.env is sent only to the address in client.env. So if
 * OPENAI_API_KEY is not set, throws a CommandError in two cases: client.env has no key, or OPENAI_BASE_URL is another
 * address than the address in client.env. An operator's token is never used, because it is no API key.
 */
export function findClientAccess(config: CtlConfig): ClientAccess {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl } = config
  if (apiKey !== undefined) return { apiKey, baseUrl: trimUrl(baseUrl ?? DEFAULT_URL) }
  const { home } = openLocalCluster(config)
  const path = join(home, 'client.env')
  const file = readVariables(path)
  const [fileKey, fileUrl] = [file.get('OPENAI_API_KEY'), file.get('OPENAI_BASE_URL')]
  if (fileKey === undefined || fileUrl === undefined || (baseUrl !== undefined && baseUrl !== fileUrl)) {
    throw new CommandError(
      'usage',
      `No API key: set OPENAI_API_KEY, or start a cluster, whose key is in ${path}.`,
    )
  }
  return { apiKey: fileKey, baseUrl: trimUrl(fileUrl) }
}

const trimUrl = (url: string) => url.replace(/\/+$/, '')

/** Returns the variables of a file; none if the file is missing. */
function readVariables(path: string): Map<string, string> {
  try {
    const lines = readFileSync(path, 'utf8').split('\n')
    const pairs = lines.flatMap((line) => {
      const [, name, value] = /^(?:export )?(\w+)=(.*)$/.exec(line) ?? []
      return name === undefined || value === undefined
        ? []
        : [[name, value.replace(/^(['"])(.*)\1$/, '$2')] as const]
    })
    return new Map(pairs)
  } catch {
    return new Map()
  }
}
