import { isIP } from 'node:net'

/** A network that one person commands: the address, or the /64 of an IPv6 one. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:/i, '')
  if (isIP(plain) !== 6) return plain
  const [head = '', tail = ''] = plain.split('%', 1)[0]?.split('::', 2) ?? []
  const groups = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const filled = plain.includes('::')
    ? [...groups, ...Array.from({ length: Math.max(0, 8 - groups.length - after.length) }, () => '0'), ...after]
    : groups
  return filled.slice(0, 4).join(':')
}
