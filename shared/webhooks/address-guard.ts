import { lookup } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/**
 * Where webhooks may not go: what is not the public internet (the special-purpose registries of IANA), for whoever names
 * an address must not reach the installation's own network through us.
 */
const FORBIDDEN: ReadonlyArray<readonly [network: string, prefix: number]> = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4]
]

export class AddressRefused extends Error {
  override name = 'AddressRefused'
}

export interface AddressGuard {
  /** May a webhook connect to this address? */
  permits(address: string): boolean
  /**
   * Finds the addresses of a host. @throws AddressRefused when one is not permitted, else what DNS says.
   */
  resolve(host: string): Promise<Array<{ address: string; family: 4 | 6 }>>
  /** For node:http: it connects to what was judged, so that a name cannot mean something else a moment later. */
  lookup: LookupFunction
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** Is it a network as in 10.0.0.0/8 or fd00::/8, or a single address? */
export function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || address.includes('%') || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 6 ? 128 : 32))
}

function addNetwork(list: BlockList, text: string): void {
  const [address = '', prefix] = text.split('/')
  const family = familyOf(address)
  list.addSubnet(address, prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix), family)
}

/** Global unicast is the only part of IPv6 that is handed out; some of it leads elsewhere all the same. */
function isForbidden6(address: string, global: BlockList, special: BlockList): boolean {
  return !global.check(address, 'ipv6') || special.check(address, 'ipv6')
}

/** `allow`: networks that are permitted although they are private (`WEBHOOK_ALLOW`). */
export function createAddressGuard(
  allow: readonly string[],
  resolve: (host: string) => Promise<Array<{ address: string; family: number }>> = (host) => lookup(host, { all: true })
): AddressGuard {
  const allowed = new BlockList()
  for (const network of allow) addNetwork(allowed, network)
  const forbidden4 = new BlockList()
  for (const [network, prefix] of FORBIDDEN) forbidden4.addSubnet(network, prefix, 'ipv4')
  const global6 = new BlockList()
  global6.addSubnet('2000::', 3, 'ipv6')
  const special6 = new BlockList()
  // Special purposes, documentation, and 6to4, which holds an IPv4 address.
  for (const [network, prefix] of [
    ['2001::', 23],
    ['2001:db8::', 32],
    ['2002::', 16],
    ['3fff::', 20]
  ] as const) {
    special6.addSubnet(network, prefix, 'ipv6')
  }

  function permits(address: string): boolean {
    const plain = address.split('%', 1)[0] ?? ''
    if (isIP(plain) === 0) return false
    const family = familyOf(plain)
    if (allowed.check(plain, family)) return true
    if (family === 'ipv4') return !forbidden4.check(plain, 'ipv4')
    // ::ffff:10.0.0.1 is not global unicast, so that an IPv4 address in the clothes of IPv6 is refused whatever it is.
    return !isForbidden6(plain, global6, special6)
  }

  function judge(host: string, addresses: Array<{ address: string; family: number }>) {
    if (addresses.every(({ address }) => permits(address))) {
      return addresses.map(({ address, family }) => ({ address, family: family === 6 ? (6 as const) : (4 as const) }))
    }
    throw new AddressRefused(`${host} leads to an address that webhooks must not reach`)
  }

  const find: AddressGuard['resolve'] = async (host) => {
    const plain = host.replace(/^\[(.*)\]$/, '$1')
    const version = isIP(plain)
    if (version !== 0) return judge(host, [{ address: plain, family: version }])
    return judge(host, await resolve(plain))
  }

  return {
    permits,
    resolve: find,
    lookup: (host, options, callback) => {
      find(host).then(
        (found) => {
          const family = options.family === 6 || options.family === 'IPv6' ? 6 : options.family ? 4 : 0
          const fitting = found.filter((one) => family === 0 || one.family === family)
          const [first] = fitting
          if (first === undefined)
            callback(Object.assign(new Error(`no address for ${host}`), { code: 'ENOTFOUND' }), '')
          else if (options.all) callback(null, fitting)
          else callback(null, first.address, first.family)
        },
        (error: NodeJS.ErrnoException) => callback(error, '')
      )
    }
  }
}
