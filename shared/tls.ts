import { existsSync } from 'node:fs'
import { loadOrCreateCertificate } from './certificates.ts'
import { StartupError } from './env.ts'

interface TlsConfig {
  TLS_MODE: 'direct' | 'proxy'
  TLS_CERT?: string | undefined
  TLS_KEY?: string | undefined
  DATA_DIR: string
}

export interface TlsFiles {
  certFile: string
  keyFile: string
  /** What vouches for the certificate where this installation made it itself; absent: it is the operator's own. */
  caFile?: string
}

/** TLS 1.2 without CBC (AEAD suites only), in OpenSSL's words; TLS 1.3 brings its own. */
export const TLS12_CIPHERS =
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:' +
  'ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305'

/**
 * The certificate that a listening process uses, or null where a trusted proxy ends TLS. Without TLS_CERT and TLS_KEY a
 * development certificate under `DATA_DIR/tls/` is made, or used again, for `hosts`.
 * @throws StartupError naming the variable that is wrong.
 */
export async function tlsFiles(config: TlsConfig, hosts: readonly string[]): Promise<TlsFiles | null> {
  if (config.TLS_MODE === 'proxy') return null
  const { TLS_CERT, TLS_KEY } = config
  if (TLS_CERT === undefined && TLS_KEY === undefined) return loadOrCreateCertificate(config.DATA_DIR, hosts)
  if (TLS_CERT === undefined) throw new StartupError('TLS_CERT: must be set when TLS_KEY is.')
  if (TLS_KEY === undefined) throw new StartupError('TLS_KEY: must be set when TLS_CERT is.')
  for (const [name, file] of [['TLS_CERT', TLS_CERT] as const, ['TLS_KEY', TLS_KEY] as const]) {
    if (!existsSync(file)) throw new StartupError(`${name}: there is no file ${file}.`)
  }
  return { certFile: TLS_CERT, keyFile: TLS_KEY }
}
