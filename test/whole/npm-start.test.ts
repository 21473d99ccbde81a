import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { dataDirFor } from '../support/data-dir.ts'
import { startInstallation, statusOf } from '../support/installation.ts'
import { waitFor } from '../support/wait-for.ts'

const READY = /Pulsegate is ready/

test('one command starts everything, a second start is refused, and one signal ends everything within ten seconds', async (t) => {
  const dataDir = await dataDirFor(t)
  const installation = startInstallation(t, dataDir)
  await installation.said(READY)
  const [, api] = await installation.said(/API +(https:\S+)/)
  const ca = await readFile(join(dataDir, 'tls/ca.pem'), 'utf8')
  t.equal(await statusOf(`${api}/readyz`, ca), 200)
  t.equal(await statusOf(`${api}/ca.pem`, ca), 200, 'others can fetch what to trust')

  const second = startInstallation(t, dataDir)
  t.match(await second.ended, { code: 78 })
  t.match(second.output(), `Pulsegate already runs on ${dataDir} (process ${installation.pid})`)

  const began = Date.now()
  installation.child.kill('SIGINT')
  // npm doubles Ctrl-C: the second must not cut the first one's order short.
  installation.child.kill('SIGINT')
  t.match(await installation.ended, { code: 0 })
  t.ok(Date.now() - began < 10_000)
  t.same(await installation.living(), [])
})

test('a stop during the start leaves nothing behind', async (t) => {
  const dataDir = await dataDirFor(t)
  const installation = startInstallation(t, dataDir)
  await waitFor(() => readFile(join(dataDir, 'supervisor.lock')))
  installation.child.kill('SIGTERM')
  t.match(await installation.ended, { code: 0 })
  t.same(await installation.living(), [])
})

test('a wrong variable stops the start with a sentence that names it', async (t) => {
  const installation = startInstallation(t, await dataDirFor(t), { API_PORT: 'many' })
  t.match(await installation.ended, { code: 78 })
  t.match(installation.output(), 'API_PORT: must be a port')
})
