import { readFileSync } from 'node:fs'
import * as tls from 'node:tls'

export interface CaFile {
  /** The variable or field that named it, for the fault. */
  readonly setting: string
  readonly path: string
}

/** Node's own authorities. From 22.15 on Node tells them whole; before, those of NODE_EXTRA_CA_CERTS have to be read here. */
function standardAuthorities(extra: CaFile | undefined): string[] {
  // The types are those of Node 20, which lacks this function.
  const { getCACertificates } = tls as { getCACertificates?: (store: 'default') => string[] }
  if (getCACertificates !== undefined) return getCACertificates('default')
  return extra === undefined ? [...tls.rootCertificates] : [...tls.rootCertificates, readAuthority(extra)]
}

/** @throws Error with a whole sentence that names the setting. */
function readAuthority({ setting, path }: CaFile): string {
  let pem: string
  try {
    pem = readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Error(`${setting}: cannot read ${path} (${code}); name a file of PEM certificates.`, { cause })
  }
  if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem
  throw new Error(`${setting}: ${path} holds no PEM certificate; name the file of the authority's certificate.`)
}

/**
 * Every authority to trust: Node's own and those of `files`; undefined when there are none but Node's own. A list given to
 * TLS replaces Node's list instead of adding to it, so it has to be whole.
 */
export function readTrust(files: readonly CaFile[], extra: CaFile | undefined): string[] | undefined {
  if (files.length === 0) return undefined
  return [...standardAuthorities(extra), ...files.map(readAuthority)]
}
