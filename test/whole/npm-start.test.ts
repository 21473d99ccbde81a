import { readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { test } from 'tap'
import { dataDirFor } from '../support/data-dir.ts'
import { startInstallation } from '../support/installation.ts'
import { waitFor } from '../support/wait-for.ts'

const READY = /Pulsegate is ready/

function statusOf(url: string, ca: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { ca, agent: false }, (res) => resolve(res.resume().statusCode ?? 0))
      .on('error', reject)
      .end()
  })
}

test('one command starts everything, a second start is refused, and one signal ends everything within ten seconds', async (t) => {
  const dataDir = await dataDirFor(t)
  const installation = startInstallation(t, dataDir)
  await installation.said(READY)
  const [, api] = await installation.said(/API +(https:\S+)/)
  t.equal(await statusOf(`${api}/readyz`, await readFile(join(dataDir, 'tls/ca.pem'), 'utf8')), 200)

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

test('whatever is killed is said and comes back; killing the supervisor leaves nothing in the way of the next start', async (t) => {
  const dataDir = await dataDirFor(t)
  // A lock whose process number now belongs to another program is taken over.
  await writeFile(join(dataDir, 'supervisor.lock'), JSON.stringify({ pid: process.pid, mark: 'another start' }))
  const first = startInstallation(t, dataDir)
  await first.said(READY)
  const [, api] = await first.said(/API +(https:\S+)/)
  const ca = await readFile(join(dataDir, 'tls/ca.pem'), 'utf8')
  for (const name of ['gateway', 'api', 'worker', 'redis', 'postgres'] as const) {
    process.kill(await first.pidOf(name), 'SIGKILL')
    await first.said(new RegExp(`${name} was ended by SIGKILL; starting it again in 200 ms`))
    await first.said(new RegExp(`${name} runs again`))
    await waitFor(async () => (await statusOf(`${api}/readyz`, ca)) === 200, { timeoutMs: 15_000 })
  }

  first.child.kill('SIGKILL')
  const second = startInstallation(t, dataDir)
  await second.said(READY)
  second.child.kill('SIGTERM')
  t.match(await second.ended, { code: 0 })
  await waitFor(async () => (await second.living()).length === 0)
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
