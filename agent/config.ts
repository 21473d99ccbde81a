import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { type CaFile, readTrust } from './trust.ts'

/** A start that cannot go on; the message is one sentence for the person who starts the agent. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

export interface AgentConfig {
  readonly apiKey: string
  readonly ingestUrl: string
  /** Every authority to trust; absent means Node's own list. */
  readonly ca: readonly string[] | undefined
  /** Of agent.config.json, whether or not it exists. */
  readonly file: string
}

/** What the agent's process needs before, or without, a connection. */
export interface ProcessConfig {
  readonly logLevel: string
  readonly parentPipe: boolean
}

type Environment = Readonly<Record<string, string | undefined>>
type FileSettings = z.infer<typeof fileSchema>

const FILE = 'agent.config.json'
const API_KEY = /^pg[as]_[0-9A-Za-z]{38}$/
const LOOPBACK = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

const fileSchema = z.strictObject({
  apiKey: z.string().optional(),
  ingestUrl: z.string().optional(),
  apiUrl: z.string().optional(),
  caFile: z.string().optional(),
  dataDir: z.string().optional()
})

// The texts of these faults never quote the file: it may hold the key.
function parseFile(text: string): FileSettings {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ConfigError(`${FILE} is not JSON; correct it or remove it.`, { cause })
  }
  const result = fileSchema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  if (issue?.code === 'unrecognized_keys') {
    const known = Object.keys(fileSchema.shape).join(', ')
    throw new ConfigError(`${FILE}: "${issue.keys[0]}" is not known; remove it (known are ${known}).`)
  }
  const field = issue?.path.join('.')
  throw new ConfigError(field ? `${FILE}: ${field} must be a text; correct it.` : `${FILE} must be a JSON object.`)
}

function readSettingsFile(path: string): FileSettings {
  if (!existsSync(path)) return {}
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ConfigError(`${FILE} cannot be read (${code}); let this user read it or remove it.`, { cause })
  }
  return parseFile(text)
}

interface Setting {
  /** The variable or field that the value came from. */
  readonly from: string
  readonly value: string
}

/** A variable, or the file that `NAME_FILE` names, or the field; an empty one counts as absent. */
function pick(env: Environment, variable: string, field: string, settings: FileSettings): Setting | null {
  const value = env[variable]
  if (value) return { from: variable, value }
  const file = env[`${variable}_FILE`]
  if (file) {
    try {
      return { from: `${variable}_FILE`, value: readFileSync(file, 'utf8').trim() }
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      throw new ConfigError(`${variable}_FILE: cannot read ${file} (${code}); name a file that holds the value.`, {
        cause
      })
    }
  }
  const own = settings[field as keyof FileSettings]
  return own ? { from: `${field} in ${FILE}`, value: own } : null
}

function checkKey(setting: Setting | null, apiUrl: string): string {
  if (setting === null) {
    const where = `an admin mints one at ${apiUrl}/agents (New Agent)`
    throw new ConfigError(`No API key: set SERVICE_API_KEY, or apiKey in ${FILE}; ${where}.`)
  }
  if (API_KEY.test(setting.value)) return setting.value
  const form = 'pga_ or pgs_ followed by 38 letters and digits'
  throw new ConfigError(`${setting.from} is not an API key: it must be ${form}; copy it again.`)
}

function checkAddress({ from, value }: Setting, schemes: readonly string[], example: string): URL {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url !== null && schemes.includes(url.protocol) && url.hash === '') return url
  throw new ConfigError(`${from} must be an address such as ${example}.`)
}

function checkIngestUrl(setting: Setting): string {
  const url = checkAddress(setting, ['wss:', 'ws:'], 'wss://localhost:8444')
  if (url.protocol === 'wss:' || LOOPBACK.test(url.hostname)) return url.href
  throw new ConfigError(`${setting.from}: ws:// would send the API key unprotected; use wss://.`)
}

function authorities(env: Environment, settings: FileSettings, folder: string): string[] | undefined {
  const files: CaFile[] = []
  if (settings.caFile) files.push({ setting: `caFile in ${FILE}`, path: resolve(folder, settings.caFile) })
  const dataDir = pick(env, 'DATA_DIR', 'dataDir', settings)?.value ?? '.data'
  const development = join(resolve(folder, dataDir), 'tls', 'ca.pem')
  if (existsSync(development)) files.push({ setting: 'DATA_DIR', path: development })
  const extra = env.NODE_EXTRA_CA_CERTS
  try {
    return readTrust(files, extra ? { setting: 'NODE_EXTRA_CA_CERTS', path: extra } : undefined)
  } catch (cause) {
    throw new ConfigError((cause as Error).message, { cause })
  }
}

/** The whole configuration; variables win over the file. @throws ConfigError naming the setting, never its value. */
export function readConfig(env: Environment = process.env, folder: string = process.cwd()): AgentConfig {
  const file = join(folder, FILE)
  const settings = readSettingsFile(file)
  const standardApi = { from: 'API_URL', value: 'https://localhost:8443' }
  const apiUrl = checkAddress(
    pick(env, 'API_URL', 'apiUrl', settings) ?? standardApi,
    ['https:', 'http:'],
    standardApi.value
  )
  const standardIngest = { from: 'INGEST_URL', value: 'wss://localhost:8444' }
  return {
    apiKey: checkKey(pick(env, 'SERVICE_API_KEY', 'apiKey', settings), apiUrl.origin),
    ingestUrl: checkIngestUrl(pick(env, 'INGEST_URL', 'ingestUrl', settings) ?? standardIngest),
    ca: authorities(env, settings, folder),
    file
  }
}

/** Only what a single check needs. @throws ConfigError */
export function readAuthorities(env: Environment = process.env, folder: string = process.cwd()): string[] | undefined {
  return authorities(env, readSettingsFile(join(folder, FILE)), folder)
}

/** @throws ConfigError naming the variable. */
export function readProcessConfig(env: Environment = process.env): ProcessConfig {
  const logLevel = env.LOG_LEVEL || 'info'
  if (!LOG_LEVELS.includes(logLevel)) throw new ConfigError(`LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}.`)
  return { logLevel, parentPipe: env.PULSEGATE_PARENT_PIPE === '1' }
}
