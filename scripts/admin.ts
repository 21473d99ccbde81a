import { parseArgs } from 'node:util'
import { emailField } from '../shared/contract/auth.ts'
import { idField, nameField } from '../shared/contract/fields.ts'
import type { Schema } from '../shared/contract/route.ts'
import { connectDb, sqlState } from '../shared/db.ts'
import { StartupError } from '../shared/env.ts'
import { createLog } from '../shared/log.ts'
import { PLANS } from '../shared/plans.ts'
import { connectRedis } from '../shared/redis.ts'
import { requireSchema } from '../shared/schema.ts'
import { createSecrets } from '../shared/secrets.ts'
import { revokeKey, showKeys } from './admin/keys.ts'
import { type Operator, Refusal } from './admin/operator.ts'
import { changePlan, createOrganization, showOrganizations, suspend } from './admin/organizations.ts'
import { renewSecrets } from './admin/secrets-key.ts'
import { rotateSigningKeys, showSigningKeys } from './admin/signing-keys.ts'
import { resetPassword } from './admin/users.ts'
import { readAdminConfig } from './config.ts'

const USAGE = `What the operator of an installation does by hand. Every change is told in the audit trail of the organization.

Usage: npm run admin -- <command>
  organizations list
  organizations create --name <name> --owner-email <email> [--owner-name <name>]
                                     a new owner's password is shown once
  organizations plan <id> <plan>     ${Object.keys(PLANS).join(', ')}
  organizations suspend <id>         nobody of it signs in or reports, until
  organizations resume <id>
  users reset-password <email> [--unlink]
                                     shows a new password once, and ends the person's sessions;
                                     --unlink: single sign-on is no way in any more either
  keys list --organization <id>      API keys, by their beginnings and ends
  keys revoke <key id>               closes its sockets and refuses it within a second
  signing-keys list                  the keys that sign JWTs
  signing-keys rotate                publishes the next one, which signs two hours later
  signing-keys rotate --now          for a key that others know: every JWT of before is refused
  secrets-key renew                  stores push URLs and secrets of webhooks by SECRETS_KEY, read by SECRETS_KEY_OTHER

It works on DATABASE_URL, REDIS_URL and SECRETS_KEY; what is not set is found where npm start left it in DATA_DIR.`

/** As a shell's own "wrong usage". */
const EXIT_USAGE = 64

type Command = (operator: Operator) => Promise<void>

const OPTIONS = {
  name: { type: 'string' },
  'owner-email': { type: 'string' },
  'owner-name': { type: 'string' },
  organization: { type: 'string' },
  now: { type: 'boolean' },
  unlink: { type: 'boolean' }
} as const
interface Values {
  name?: string | undefined
  'owner-email'?: string | undefined
  'owner-name'?: string | undefined
  organization?: string | undefined
  now?: boolean | undefined
  unlink?: boolean | undefined
}

/** What is wrong with a word, or null. */
type Check = (word: string) => string | null

interface Form {
  /** Words after the command's two. */
  words: readonly Check[]
  /** The options that it takes; a flag has no check. */
  options?: Partial<Record<keyof Values, Check>>
  /** Those that it cannot do without. */
  required?: ReadonlyArray<keyof Values>
  run(words: readonly string[], values: Values): Command
}

function by(schema: Schema, fault: string): Check {
  return (word) => (schema.safeParse(word).success ? null : `"${word}" ${fault}`)
}

const id = by(idField, 'is no id')
const text = by(nameField(200), 'is no name')
const email = by(emailField, 'is no e-mail address')
const plan: Check = (word) => (Object.hasOwn(PLANS, word) ? null : `"${word}" is no plan`)
const flag: Check = () => null

/** Every command by its two words. */
const FORMS: Record<string, Form> = {
  'organizations list': { words: [], run: () => showOrganizations },
  'organizations create': {
    words: [],
    options: { name: text, 'owner-email': email, 'owner-name': text },
    required: ['name', 'owner-email'],
    run:
      (_words, { name = '', 'owner-email': ownerEmail = '', 'owner-name': ownerName }) =>
      (operator) =>
        createOrganization(operator, { name: name.trim(), ownerEmail, ownerName: ownerName?.trim() })
  },
  'organizations plan': {
    words: [id, plan],
    run:
      ([organizationId = '', plan = '']) =>
      (operator) =>
        changePlan(operator, organizationId, plan)
  },
  'organizations suspend': {
    words: [id],
    run:
      ([organizationId = '']) =>
      (operator) =>
        suspend(operator, organizationId, true)
  },
  'organizations resume': {
    words: [id],
    run:
      ([organizationId = '']) =>
      (operator) =>
        suspend(operator, organizationId, false)
  },
  'users reset-password': {
    words: [email],
    options: { unlink: flag },
    run:
      ([email = ''], { unlink = false }) =>
      (operator) =>
        resetPassword(operator, email, unlink)
  },
  'keys list': {
    words: [],
    options: { organization: id },
    required: ['organization'],
    run:
      (_words, { organization = '' }) =>
      (operator) =>
        showKeys(operator, organization)
  },
  'keys revoke': {
    words: [id],
    run:
      ([keyId = '']) =>
      (operator) =>
        revokeKey(operator, keyId)
  },
  'signing-keys list': { words: [], run: () => showSigningKeys },
  'signing-keys rotate': {
    words: [],
    options: { now: flag },
    run:
      (_words, { now = false }) =>
      (operator) =>
        rotateSigningKeys(operator, now)
  },
  'secrets-key renew': { words: [], run: () => renewSecrets }
}

/** The first thing that is wrong with what was given to a command, or null. */
function faultOf(
  { words, options = {}, required = [] }: Form,
  given: readonly string[],
  values: Values
): string | null {
  for (const [place, check] of words.entries()) {
    const fault = check(given[place] ?? '')
    if (fault !== null) return fault
  }
  for (const name of required) if (values[name] === undefined) return `--${name} is needed`
  for (const [name, value] of Object.entries(values)) {
    const check = Object.hasOwn(options, name) ? options[name as keyof Values] : undefined
    const fault = check === undefined ? 'is not of this command' : check(String(value))
    if (fault !== null) return `--${name}: ${fault}`
  }
  return null
}

/** Null: not a command of ours. */
function commandOf(args: string[]): Command | null {
  let parsed: { values: Values; positionals: string[] }
  try {
    parsed = parseArgs({ args, options: OPTIONS, allowPositionals: true, strict: true })
  } catch (error) {
    console.error(`${(error as Error).message}\n`)
    return null
  }
  const [group = '', verb = '', ...words] = parsed.positionals
  const form = Object.hasOwn(FORMS, `${group} ${verb}`) ? FORMS[`${group} ${verb}`] : undefined
  if (form === undefined || words.length !== form.words.length) return null
  const fault = faultOf(form, words, parsed.values)
  if (fault !== null) console.error(`${fault}\n`)
  return fault === null ? form.run(words, parsed.values) : null
}

async function run(command: Command): Promise<void> {
  const config = readAdminConfig()
  const log = createLog('admin', 'fatal')
  const db = connectDb({ url: config.DATABASE_URL, role: 'pulsegate_system', log, max: 2 })
  try {
    await requireSchema(db)
    const redis = await connectRedis({ url: config.REDIS_URL, log, whenAway: 'fail' })
    try {
      await command({
        db,
        redis,
        redisPrefix: config.REDIS_PREFIX,
        secrets: createSecrets(config.SECRETS_KEY, config.SECRETS_KEY_OTHER),
        log,
        clock: Date.now,
        defaultPlan: config.DEFAULT_PLAN,
        say: (line) => console.log(line),
        warn: (line) => console.error(line)
      })
    } finally {
      await redis.stop()
    }
  } finally {
    await db.stop()
  }
}

async function main(): Promise<number> {
  const command = commandOf(process.argv.slice(2))
  if (command === null) {
    console.error(USAGE)
    return EXIT_USAGE
  }
  await run(command)
  return 0
}

/** What the operator can do something about; anything else is shown whole. */
function isForOperator(error: unknown): error is Error {
  return error instanceof StartupError || error instanceof Refusal || sqlState(error)?.startsWith('08') === true
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(isForOperator(error) ? error.message : error)
  process.exitCode = 1
}
