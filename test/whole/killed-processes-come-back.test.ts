import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { dataDirFor } from '../support/data-dir.ts'
import { startInstallation, statusOf } from '../support/installation.ts'
import { waitFor } from '../support/wait-for.ts'

const READY = /Pulsegate is ready/

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
