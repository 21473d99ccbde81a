import { beginKeyRotation, type KeyStep, replaceSigningKeys } from '../../api/sign-in/signing-keys.ts'
import type { Database } from '../../shared/db.ts'
import { insertOperatorAuditEverywhere } from '../../shared/store/audit.ts'
import { listSigningKeys } from '../../shared/store/signing-keys.ts'
import { type Operator, tableLines, timeOf } from './operator.ts'

const SAID: Record<KeyStep, string> = {
  nothing: 'A next key is published already; it signs from two hours after that on.',
  first_key_made: 'There was no key yet; the first one signs now.',
  next_key_published: 'The next key is published; it signs from two hours from now on. Nobody is signed out.',
  next_key_signs: 'The key that was published before signs now. Nobody is signed out.'
}

export async function showSigningKeys({ db, say }: Operator): Promise<void> {
  const rows = await listSigningKeys(db)
  for (const line of tableLines(rows.map((row) => [row.kid, row.state, `since ${timeOf(row.state_since)}`]))) say(line)
  if (rows.length === 0) say('There is no key yet: the first API process makes it.')
}

/** The same database, whose transactions note that the operator changed the keys unless nothing was done. */
function audited(db: Database, details: Record<string, unknown>): Database {
  return {
    ...db,
    transaction: (work) =>
      db.transaction(async (tx) => {
        const done = await work(tx)
        if (done !== 'nothing') await insertOperatorAuditEverywhere(tx, { action: 'signing_key.rotated', details })
        return done
      })
  }
}

/** In order: published first, and old tokens stay valid; or `now`, for a key that others know. */
export async function rotateSigningKeys({ db, secrets, clock, say }: Operator, now: boolean): Promise<void> {
  const keys = audited(db, { now })
  if (!now) {
    say(SAID[await beginKeyRotation(keys, { secrets, clock })])
    return
  }
  const kid = await replaceSigningKeys(keys, { secrets, clock })
  say(`The key ${kid} signs now and all others are gone: within a minute no JWT of before is valid. Sessions go on.`)
}
