import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'

/** Reads a certificate and its key. Rejects with an error that names both files when they do not belong together. */
export async function readPair(certFile: string, keyFile: string): Promise<{ cert: Buffer; key: Buffer }> {
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)])
  try {
    createSecureContext({ cert, key })
  } catch (cause) {
    throw new Error(`${certFile} and ${keyFile} are not a certificate and its key`, { cause })
  }
  return { cert, key }
}

/** Reads the certificates of trusted authorities, as `toAuthorities` returns them. */
export async function readAuthorities(file: string): Promise<string[]> {
  return toAuthorities(await readFile(file, 'latin1'), file)
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Returns the certificates in the text of a file, each as PEM in OpenSSL's form. Throws if the file has no certificate
 * or an unreadable one; the error names the file. OpenSSL would accept such a file and then trust no peer.
 */
export function toAuthorities(text: string, file: string): string[] {
  const certificates = text.match(CERTIFICATE) ?? []
  try {
    if (certificates.length === 0) throw new Error('no certificate found')
    return certificates.map((certificate) => new X509Certificate(certificate).toString())
  } catch (cause) {
    throw new Error(`${file} is not a certificate`, { cause })
  }
}
