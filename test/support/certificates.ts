import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scratchFolder } from './run-folder.ts'

/** Paths of PEM files. */
export type TestCertificate = { cert: string; key: string }

export type TestAuthority = {
  /** The path of the authority's own certificate. */
  ca: string
  /** Issues a certificate for a host's or a client's name. */
  issue(name: string): TestCertificate
}

/** Creates a certificate authority for one test. Needs `openssl`. */
export function createAuthority(): TestAuthority {
  const folder = scratchFolder('certificates')
  const authority = { cert: join(folder, 'ca.crt'), key: join(folder, 'ca.key') }
  openssl(['req', '-x509', ...NEW_KEY, '-keyout', authority.key, '-out', authority.cert, '-subj', '/CN=test'])
  return {
    ca: authority.cert,
    issue(name) {
      const place = scratchFolder('certificate')
      const [cert, key] = [join(place, 'tls.crt'), join(place, 'tls.key')]
      const [request, extensions] = [join(place, 'request'), join(place, 'extensions')]
      writeFileSync(extensions, `subjectAltName=DNS:${name}\n`)
      openssl(['req', ...NEW_KEY, '-keyout', key, '-out', request, '-subj', `/CN=${name}`])
      const by = ['-CA', authority.cert, '-CAkey', authority.key, '-CAcreateserial']
      openssl(['x509', '-req', ...by, '-in', request, '-out', cert, '-days', '2', '-extfile', extensions])
      return { cert, key }
    },
  }
}

export type MountedSecret = {
  /** The paths of `tls.crt`, `tls.key` and `ca.crt`, which stay the same. */
  cert: string
  key: string
  ca: string
  /** Replaces all three files at once by copies of these files. */
  replace(files: TestCertificate & { ca: string }): void
}

/**
 * Mounts copies of these files as a kubelet mounts a Secret: the paths lead through a link to a folder with all files,
 * and a renewal replaces that link.
 */
export function mountSecret(files: TestCertificate & { ca: string }): MountedSecret {
  const folder = scratchFolder('secret')
  const link = join(folder, '..data')
  const replace: MountedSecret['replace'] = ({ cert, key, ca }) => {
    const version = mkdtempSync(join(folder, '..version-'))
    copyFileSync(cert, join(version, 'tls.crt'))
    copyFileSync(key, join(version, 'tls.key'))
    copyFileSync(ca, join(version, 'ca.crt'))
    symlinkSync(version, `${link}_next`)
    renameSync(`${link}_next`, link)
  }
  replace(files)
  const [cert, key, ca] = [join(link, 'tls.crt'), join(link, 'tls.key'), join(link, 'ca.crt')]
  return { cert, key, ca, replace }
}

/** A constant, because knip reports a literal command as a missing dependency. */
const OPENSSL = 'openssl'

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

function openssl(args: readonly string[]): void {
  execFileSync(OPENSSL, args, { stdio: 'pipe' })
}
