import { join } from 'node:path'
import { StartupError } from '../shared/env.ts'
import { bannerOf } from './banner.ts'
import { readConfig } from './config.ts'
import { runDemo } from './demo.ts'
import { createSay } from './say.ts'
import { createSupervisor } from './supervisor.ts'

/** npm passes Ctrl-C on although the terminal already sent it: a repeat this soon is the same wish. */
const REPEAT_MS = 1_000
const PARENT_CHECK_MS = 500

// The installation is of use without its demo.
async function demoLines(options: Parameters<typeof runDemo>[0]): Promise<string[]> {
  try {
    return await runDemo(options)
  } catch (error) {
    options.say.line('error', `the demo could not be set up: ${(error as Error).message}`)
    return []
  }
}

async function main(): Promise<void> {
  const config = readConfig()
  const say = createSay(join(config.DATA_DIR, 'logs'), process.stdout)
  const supervisor = createSupervisor({ config, say })
  let stoppingSince = 0

  const quit = async (reason: string, code: number) => {
    if (stoppingSince > 0) {
      if (Date.now() - stoppingSince < REPEAT_MS) return
      supervisor.kill()
      process.exit(1)
    }
    stoppingSince = Date.now()
    if (reason !== '') say.line('info', `${reason}: stopping`)
    await supervisor.stop()
    say.line('info', `stopped after ${((Date.now() - stoppingSince) / 1_000).toFixed(1)} s`)
    process.exit(code)
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void quit(signal, 0))
  // A terminal that was closed takes no more lines; that must not end the stop half-way.
  process.stdout.on('error', () => undefined)
  const parent = process.ppid
  // Started by npm and npm is gone: nobody can stop us by Ctrl-C any more.
  if (config.startedByNpm && parent !== 1) {
    setInterval(() => process.ppid !== parent && void quit('npm is gone', 0), PARENT_CHECK_MS).unref()
  }

  try {
    const installation = await supervisor.start()
    const more = config.demo ? await demoLines({ config, installation, say }) : []
    const milliseconds = performance.now()
    process.stdout.write(bannerOf({ installation, dataDir: config.DATA_DIR, milliseconds, more }))
  } catch (error) {
    if (stoppingSince > 0) return
    say.line('error', error instanceof StartupError ? error.message : `${(error as Error).stack ?? error}`)
    await quit('', error instanceof StartupError ? 78 : 1)
  }
}

await main().catch((error: unknown) => {
  // Nothing runs yet: the configuration or the data folder is wrong.
  console.error(error instanceof StartupError ? `pulsegate: ${error.message}` : error)
  process.exit(error instanceof StartupError ? 78 : 1)
})
