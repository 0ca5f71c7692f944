import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js'

/**
 * How a server proves who it is, and whom it lets in: paths of PEM files. Without a certificate it speaks plaintext;
 * with `clientCa` only clients with a certificate of that authority are let in.
 */
export type ServerTlsFiles = {
  readonly cert: string | undefined
  readonly key: string | undefined
  readonly clientCa: string | undefined
}

/** Whom a client trusts, and how it proves who it is. Without `ca` it speaks plaintext. */
export type ClientTlsFiles = {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

/** Reads the files now: changed ones count from the next start on. Throws when they cannot be used. */
export function readServerCredentials({ cert, key, clientCa }: ServerTlsFiles): ServerCredentials {
  if (cert === undefined || key === undefined) return ServerCredentials.createInsecure()
  const pair = readPair(cert, key)
  const ca = clientCa === undefined ? null : readAuthority(clientCa)
  return ServerCredentials.createSsl(ca, [{ cert_chain: pair.cert, private_key: pair.key }], ca !== null)
}

/** As `readServerCredentials`. The server's certificate must be for the host of the address that is called. */
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

/** OpenSSL takes a file without any certificate for an authority that vouches for nobody. */
function readAuthority(file: string): Buffer {
  const authority = readFileSync(file)
  try {
    void new X509Certificate(authority)
  } catch (cause) {
    throw new Error(`${file} is not a certificate`, { cause })
  }
  return authority
}
