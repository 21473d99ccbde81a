import type { Say } from './say.ts'
import type { Installation } from './supervisor.ts'

interface Options {
  apiUrl: string
  ingestUrl: string
  installation: Installation
  dataDir: string
  say: Say
}

/** Returns lines for the banner. */
export async function runDemo(_options: Options): Promise<string[]> {
  return []
}
