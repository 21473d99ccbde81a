import { isIP } from 'node:net'

/** The eight groups of an IPv6 address, without leading zeros; a tail in IPv4's words is two of them. */
function groupsOf(address: string): string[] {
  const dotted = /(?<=:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/
  const plain = address.replace(dotted, (_all, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number)
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
  const [head = '', tail = ''] = plain.split('::', 2)
  const before = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const between = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  return [...before, ...between, ...after].map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
}

/** An IPv4 address that is written as an IPv6 one: what a socket for both calls its IPv4 peers. */
function mappedIpv4(groups: readonly string[]): string | null {
  if (groups.slice(0, 6).join(':') !== '0:0:0:0:0:ffff') return null
  const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16))
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** An address as people know it: an IPv4 one in its own words, whatever the socket calls it. */
export function readableAddress(address: string): string {
  return (isIP(address) === 6 ? mappedIpv4(groupsOf(address)) : null) ?? address
}

/** A network that one person commands: the IPv4 address, or the /64 of an IPv6 one. */
export function networkOf(address: string): string {
  const plain = address.split('%', 1)[0] ?? ''
  if (isIP(plain) !== 6) return plain
  const groups = groupsOf(plain)
  return mappedIpv4(groups) ?? groups.slice(0, 4).join(':')
}
