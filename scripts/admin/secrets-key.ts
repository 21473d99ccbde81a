import type { Transaction } from '../../shared/db.ts'
import type { Secrets } from '../../shared/secrets.ts'
import { insertOperatorAuditEverywhere } from '../../shared/store/audit.ts'
import { channelContext, lockChannelSecrets, replaceChannelSecret } from '../../shared/store/channels.ts'
import { lockPushTokens, pushContext, storePushTokens } from '../../shared/store/push-urls.ts'
import type { Operator } from './operator.ts'

/** Tokens of one statement. */
const TOKENS = 1000

async function renewPushTokens(tx: Transaction, secrets: Secrets): Promise<number> {
  let renewed = 0
  for (let after: string | null = null; ; ) {
    const rows = await lockPushTokens(tx, after, TOKENS)
    const last = rows.at(-1)
    if (last === undefined) return renewed
    after = last.id
    renewed += rows.length
    const tokens = rows.map((row) => {
      const token = secrets.open(row.token_sealed, pushContext(row.monitor_id))
      return { id: row.id, digest: secrets.digest(token), sealed: secrets.seal(token, pushContext(row.monitor_id)) }
    })
    await storePushTokens(tx, tokens)
  }
}

async function renewChannelSecrets(tx: Transaction, secrets: Secrets): Promise<number> {
  const rows = await lockChannelSecrets(tx)
  for (const { id, organization_id: organizationId, secret_sealed: sealed } of rows) {
    const secret = secrets.open(sealed, channelContext(id))
    await replaceChannelSecret(tx, organizationId, id, secrets.seal(secret, channelContext(id)))
  }
  return rows.length
}

/** Stores by SECRETS_KEY what can be read and is stored by SECRETS_KEY_OTHER. Doing it again changes nothing for anybody. */
export async function renewSecrets({ db, secrets, say }: Operator): Promise<void> {
  const done = await db.transaction(async (tx) => {
    const pushUrls = await renewPushTokens(tx, secrets)
    const webhooks = await renewChannelSecrets(tx, secrets)
    await insertOperatorAuditEverywhere(tx, { action: 'secrets_key.changed', details: { pushUrls, webhooks } })
    return { pushUrls, webhooks }
  })
  say(`${done.pushUrls} push URLs and the secrets of ${done.webhooks} webhooks are stored by SECRETS_KEY now.`)
}
