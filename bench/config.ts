import { join } from 'node:path'

export interface BenchConfig {
  /** Everything that a run leaves behind lies here; emptied before and after. */
  dir: string
  /** What every child process gets beside its own settings. */
  childEnv: Record<string, string>
  /** Where Chromium is. */
  chromium: string
}

/** The only reader of the environment in the bench. Stores are always embedded ones: figures must be comparable. */
export function readConfig(): BenchConfig {
  return {
    dir: join(process.env.DATA_DIR ?? '.data', 'bench'),
    childEnv: { PATH: process.env.PATH ?? '', NODE_ENV: 'production', LOG_LEVEL: 'warn' },
    chromium: process.env.CHROMIUM || '/usr/bin/chromium'
  }
}
