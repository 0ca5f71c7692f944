import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js'
import { followRenewals } from '#libs/certificates/follow-renewals.ts'
import { readAuthorities, readPair } from '#libs/certificates/pem-files.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { RenewedChannelCredentials, RenewedServerCredentials } from './renewed-credentials.ts'

/**
 * Paths of PEM files: the server's certificate, its key, and the authority of client certificates. Without a
 * certificate the server speaks plaintext; with `clientCa` it accepts only clients with a certificate of that
 * authority.
 */
export type ServerTlsFiles = {
  readonly cert: string | undefined
  readonly key: string | undefined
  readonly clientCa: string | undefined
}

/**
 * Paths of PEM files: the trusted authority, and the client's certificate and key. Without `ca` the client speaks
 * plaintext.
 */
export type ClientTlsFiles = {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

type Opening = {
  readonly log: Logger
  /** How often the files are read again; default: 10 s. */
  readonly everyMs?: number
}

/** `close` ends the reading of the files; the credentials stay as they are. */
export type Opened<Credentials> = { readonly credentials: Credentials; readonly close: () => void }

/**
 * Opens a server's credentials from files. Connections that begin after a change of the files use the new content.
 * Rejects when the files cannot be used.
 */
export async function openServerCredentials(
  { cert, key, clientCa }: ServerTlsFiles,
  opening: Opening,
): Promise<Opened<ServerCredentials>> {
  if (cert === undefined || key === undefined) {
    return { credentials: ServerCredentials.createInsecure(), close: () => {} }
  }
  const read = async () => ({
    ...(await readPair(cert, key)),
    ...(clientCa === undefined ? {} : { ca: await readAuthorities(clientCa) }),
  })
  const inUse = await read()
  const credentials = new RenewedServerCredentials(inUse)
  const use = credentials.renew.bind(credentials)
  return { credentials, close: followRenewals({ read, inUse, use, ...opening }) }
}

/**
 * Opens a client's credentials like `openServerCredentials`. The server's certificate must be for the host of the
 * called address.
 */
export async function openChannelCredentials(
  { ca, cert, key }: ClientTlsFiles,
  opening: Opening,
): Promise<Opened<ChannelCredentials>> {
  if (ca === undefined) return { credentials: ChannelCredentials.createInsecure(), close: () => {} }
  const read = async () => ({
    ca: await readAuthorities(ca),
    ...(cert === undefined || key === undefined ? {} : await readPair(cert, key)),
  })
  const inUse = await read()
  const credentials = new RenewedChannelCredentials(inUse)
  const use = credentials.renew.bind(credentials)
  return { credentials, close: followRenewals({ read, inUse, use, ...opening }) }
}
