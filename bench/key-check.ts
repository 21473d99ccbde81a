import { readFileSync } from 'node:fs'
import type { Changes } from '../shared/changes.ts'
import { createCallers } from '../shared/identity/callers.ts'
import { createSecrets } from '../shared/secrets.ts'
import type { Sender } from './load-plan.ts'
import { median } from './measure.ts'
import type { Ground } from './setup.ts'

const KEYS = 1000
const CHECKS_EACH = 200
const ROUNDS = 5

/** Nothing is revoked while it is measured. */
const QUIET: Changes = { listen: () => () => undefined, stop: async () => undefined }

/** CPU microseconds of one check of an API key whose caller is cached: shape, checksum, HMAC, look-up. */
export async function measureKeyCheck({ db, secretsKey, fleetFile }: Ground): Promise<number> {
  const fleet = JSON.parse(readFileSync(fleetFile, 'utf8')) as Sender[]
  const keys = fleet.slice(0, KEYS).map(({ apiKey }) => apiKey)
  const callers = createCallers({ db, secrets: createSecrets(secretsKey), changes: QUIET })
  try {
    for (const key of keys) {
      if ((await callers.byApiKey(key)) === null) throw new Error('a key of the fleet was not found')
    }
    const rounds: number[] = []
    // The first one compiles.
    for (let round = 0; round <= ROUNDS; round++) {
      const before = process.cpuUsage()
      for (let i = 0; i < CHECKS_EACH; i++) for (const key of keys) await callers.byApiKey(key)
      const { user, system } = process.cpuUsage(before)
      if (round > 0) rounds.push((user + system) / (KEYS * CHECKS_EACH))
    }
    return median(rounds, (value) => value)
  } finally {
    callers.stop()
  }
}
