import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { dataDirFor } from '../support/data-dir.ts'
import { openStores } from '../support/ingest.ts'
import { operatorOf } from '../support/operator.ts'
import { runScript } from '../support/run-script.ts'

const stores = await openStores(t)
const admin = operatorOf(stores)

t.test('the commands find the stores and the key of a running npm start in its data folder', async (t) => {
  const DATA_DIR = await dataDirFor(t)
  const keep = (folder: string, address: string) => {
    const { port, password } = new URL(address)
    mkdirSync(join(DATA_DIR, folder))
    writeFileSync(join(DATA_DIR, folder, 'port'), `${port}\n`)
    writeFileSync(join(DATA_DIR, folder, 'password'), `${decodeURIComponent(password)}\n`)
  }
  keep('postgres', stores.databaseUrl)
  keep('redis', stores.redisUrl)
  writeFileSync(join(DATA_DIR, 'secrets-key'), `${stores.secretsKey}\n`)
  // All but the database's name can be left there by a test, so what is found is the server's own, which holds nothing.
  const { err } = await runScript('scripts/admin.ts', { DATA_DIR }, 'signing-keys', 'list')
  t.match(err, /relation "pgmigrations" does not exist/)
})

t.test('what there is not is told, and what is no command gets the list of them', async (t) => {
  const nobody = '01990000-0000-7000-8000-000000000000'
  t.same(await admin('organizations', 'suspend', nobody), {
    code: 1,
    out: '',
    err: `There is no organization ${nobody}.\n`
  })
  t.match(await admin('users', 'reset-password', 'nobody@example.com'), {
    code: 1,
    err: 'There is no account nobody@example.com.\n'
  })
  const usage = { code: 64, out: '', err: /Usage: npm run admin -- <command>/ }
  const wrong = [['organizations', 'plan', nobody, 'gold'], ['keys', 'list'], ['--what']]
  for (const args of wrong) t.match(await runScript('scripts/admin.ts', {}, ...args), usage, args.join(' '))
  const bare = await runScript('scripts/admin.ts', { DATA_DIR: await dataDirFor(t) }, 'signing-keys', 'list')
  t.match(bare, {
    code: 1,
    out: '',
    err: /^The configuration is not right\. DATABASE_URL: .*REDIS_URL: .*SECRETS_KEY: /
  })
})
