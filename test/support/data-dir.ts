import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TearsDown } from './database.ts'

/** An empty data folder of the test's own, removed when the test ends. A space in its path, as users have them. */
export async function dataDirFor(t: TearsDown): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'pulsegate test-'))
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}
