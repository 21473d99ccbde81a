import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { loadOrCreateCertificate } from '../shared/certificates.ts'
import { StartupError } from '../shared/env.ts'
import { readOrCreate } from '../shared/kept-file.ts'
import type { LocalConfig } from './config.ts'
import { freePort, isPortFree } from './ports.ts'

/** Where this installation is reached, with its real ports. */
export interface Addresses {
  ports: Record<(typeof PUBLIC_PORTS)[number] | (typeof ADMIN_PORTS)[number], number>
  apiUrl: string
  appUrl: string
  siteUrl: string
  ingestUrl: string
}

export interface Tls {
  certFile?: string
  keyFile?: string
  /** Only of a certificate made here. */
  caFile?: string
}

const PUBLIC_PORTS = ['API_PORT', 'HTTP_PORT', 'INGEST_PORT'] as const
const ADMIN_PORTS = ['API_ADMIN_PORT', 'GATEWAY_ADMIN_PORT', 'WORKER_ADMIN_PORT'] as const

/** Makes the data folder: others may pass through it (to `tls/ca.pem`), not look around. Throws StartupError. */
export function makeDataDir(dataDir: string): void {
  try {
    mkdirSync(join(dataDir, 'run'), { recursive: true, mode: 0o711 })
    if (process.getuid?.() === 0) chmodSync(dataDir, 0o711)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new StartupError(`DATA_DIR ${dataDir} cannot be made or entered (${code}): choose a folder of your own.`, {
      cause
    })
  }
}

/** Fixed ports are checked, 0 becomes a free one. Throws StartupError naming each variable whose port is taken. */
export async function chooseAddresses(config: LocalConfig): Promise<Addresses> {
  const taken: string[] = []
  const chosen = new Set<number>()
  const ports = {} as Addresses['ports']
  for (const name of [...PUBLIC_PORTS, ...ADMIN_PORTS]) {
    const wanted = config[name]
    // An admin port that is taken is no fault: the process goes on to the next one.
    if (wanted !== 0 && (PUBLIC_PORTS as readonly string[]).includes(name) && !(await isPortFree(wanted))) {
      taken.push(`${name} ${wanted}`)
    }
    let port = wanted
    while (port === 0 || (wanted === 0 && chosen.has(port))) port = await freePort()
    chosen.add(port)
    ports[name] = port
  }
  if (taken.length > 0) {
    throw new StartupError(
      `In use by another program: ${taken.join(', ')}. Stop that program, or set another port (0 takes any free one).`
    )
  }
  const web = `https://localhost:${ports.API_PORT}`
  return {
    ports,
    apiUrl: config.API_URL ?? web,
    appUrl: config.APP_URL ?? web,
    siteUrl: config.SITE_URL ?? web,
    ingestUrl: config.INGEST_URL ?? `wss://localhost:${ports.INGEST_PORT}`
  }
}

/** The configured certificate, else one made for all four addresses; none behind a proxy that ends TLS. */
export async function chooseTls(config: LocalConfig, addresses: Addresses): Promise<Tls> {
  if (config.TLS_MODE === 'proxy') return {}
  if (config.TLS_CERT !== undefined && config.TLS_KEY !== undefined) {
    return { certFile: config.TLS_CERT, keyFile: config.TLS_KEY }
  }
  if (config.TLS_CERT !== undefined || config.TLS_KEY !== undefined) {
    throw new StartupError(
      'TLS_CERT and TLS_KEY belong together: set both, or neither for a generated development certificate.'
    )
  }
  const { apiUrl, appUrl, siteUrl, ingestUrl } = addresses
  const hosts = [apiUrl, appUrl, siteUrl, ingestUrl].map((url) => new URL(url).hostname)
  return loadOrCreateCertificate(config.DATA_DIR, hosts)
}

/** The configured key, else one made once and kept: all that is encrypted or signed here depends on it. */
export function chooseSecretsKey(config: LocalConfig): string {
  return (
    config.SECRETS_KEY ?? readOrCreate(join(config.DATA_DIR, 'secrets-key'), () => randomBytes(32).toString('base64'))
  )
}

/** The environment of the processes: this one's, with what was chosen here. */
export function environmentOf(
  config: LocalConfig,
  chosen: { addresses: Addresses; secretsKey: string; databaseUrl: string; redisUrl: string }
): NodeJS.ProcessEnv {
  const { addresses } = chosen
  const ports = Object.entries(addresses.ports).map(([name, port]) => [name, String(port)])
  return {
    ...config.environment,
    ...Object.fromEntries(ports),
    DATA_DIR: config.DATA_DIR,
    DATABASE_URL: chosen.databaseUrl,
    REDIS_URL: chosen.redisUrl,
    SECRETS_KEY: chosen.secretsKey,
    API_URL: addresses.apiUrl,
    APP_URL: addresses.appUrl,
    SITE_URL: addresses.siteUrl,
    INGEST_URL: addresses.ingestUrl
  }
}
