import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js'

/**
 * Paths of PEM files: the server's certificate, its key, and the authority of client certificates. Without a certificate
 * the server speaks plaintext; with `clientCa` it accepts only clients with a certificate of that authority.
 */
export type ServerTlsFiles = {
  readonly cert: string | undefined
  readonly key: string | undefined
  readonly clientCa: string | undefined
}

/** Paths of PEM files: the trusted authority, and the client's certificate and key. Without `ca` it speaks plaintext. */
export type ClientTlsFiles = {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

/** Reads the files once: changed files take effect at the next start. Throws when they cannot be used. */
export function readServerCredentials({ cert, key, clientCa }: ServerTlsFiles): ServerCredentials {
  if (cert === undefined || key === undefined) return ServerCredentials.createInsecure()
  const pair = readPair(cert, key)
  const ca = clientCa === undefined ? null : readAuthority(clientCa)
  return ServerCredentials.createSsl(ca, [{ cert_chain: pair.cert, private_key: pair.key }], ca !== null)
}

/** Like `readServerCredentials`. The server's certificate must be for the host of the called address. */
export function readChannelCredentials({ ca, cert, key }: ClientTlsFiles): ChannelCredentials {
  if (ca === undefined) return ChannelCredentials.createInsecure()
  const pair = cert === undefined || key === undefined ? {} : readPair(cert, key)
  const context = createSecureContext({ ca: readAuthority(ca), ...pair })
  return ChannelCredentials.createFromSecureContext(context)
}

function readPair(certFile: string, keyFile: string): { cert: Buffer; key: Buffer } {
  const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
  try {
    createSecureContext(pair)
  } catch (cause) {
    throw new Error(`${certFile} and ${keyFile} are not a certificate and its key`, { cause })
  }
  return pair
}

/** Checked here because OpenSSL accepts a file without any certificate, as an authority that trusts no peer. */
function readAuthority(file: string): Buffer {
  const authority = readFileSync(file)
  try {
    void new X509Certificate(authority)
  } catch (cause) {
    throw new Error(`${file} is not a certificate`, { cause })
  }
  return authority
}
