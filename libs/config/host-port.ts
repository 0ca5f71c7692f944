import { isIPv6 } from 'node:net'

/** A host and a port. An IPv6 address has no brackets, as sockets expect it. */
export type HostAndPort = { readonly host: string; readonly port: number }

/**
 * Reads `host:port`; an IPv6 address has brackets (RFC 3986), as in `[::1]:6379`. Returns null for any other text. This
 * function and `formatHostPort` are the only code that takes addresses apart and puts them together.
 */
export function parseHostPort(text: string): HostAndPort | null {
  const [, bracketed, bare, digits] = /^(?:\[([^\]\s]+)\]|([^\s:[\]/,@]+)):(\d{1,5})$/.exec(text) ?? []
  const [host = '', port] = [bracketed ?? bare, Number(digits)]
  if (host === '' || port > 65_535) return null
  return bracketed === undefined || isIPv6(host) ? { host, port } : null
}

/** Reads an address that the configuration has checked. Throws for any other text. */
export function readHostPort(text: string): HostAndPort {
  const address = parseHostPort(text)
  if (address === null) throw new Error(`expected host:port: ${text}`)
  return address
}

/** Returns `host:port` as it stands in a URL, with brackets around an IPv6 address. */
export function formatHostPort({ host, port }: { host: string; port: number | string }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Returns the host of a URL. An IPv6 address has no brackets, as sockets expect it. */
export function hostOfUrl({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
