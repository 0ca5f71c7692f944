import { isIPv6 } from 'node:net'

/**
 * Returns the part of an address that its owner cannot choose. For an IPv4 address, also if it is mapped to IPv6, this
 * is the whole address. For an IPv6 address it is the first 64 bits, because one customer of a provider has all
 * addresses that begin with these 64 bits.
 */
export function toNetwork(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [first = '', last = ''] = address.replace(/%.*$/, '').split('::')
  const groupsOf = (text: string) => (text === '' ? [] : text.split(':'))
  const [before, after] = [groupsOf(first), groupsOf(last)]
  const missing = address.includes('::') ? Math.max(0, 8 - before.length - after.length) : 0
  const groups = [...before, ...Array<string>(missing).fill('0'), ...after]
  return `${groups.slice(0, 4).join(':')}::/64`
}
