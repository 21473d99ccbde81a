#!/usr/bin/env node
import { checkOnce } from './check-once.ts'
import { ConfigError, readAuthorities, readConfig, readProcessConfig } from './config.ts'
import { createLog } from './log.ts'
import { run } from './run.ts'
import { readVersion } from './version.ts'

const USAGE = `Usage:
  pulsegate-agent                  connect to the gateway and run the checks of this agent's monitors
  pulsegate-agent check <target>   check a URL or host:port once
  pulsegate-agent version`

/** Exit codes of `sysexits.h`, as the other processes use them. */
const EX_USAGE = 64
const EX_CONFIG = 78

async function check(target: string): Promise<number> {
  const result = await checkOnce(target, readAuthorities(), readVersion())
  if (result === null) {
    console.error(`"${target}" is neither a URL such as https://example.com nor host:port.`)
    return EX_USAGE
  }
  const why = result.message === undefined ? '' : `: ${result.message}`
  console.log(`${result.status} ${result.latency} ms${why}`)
  return result.status === 'down' ? 1 : 0
}

async function main([command = 'run', target]: readonly string[]): Promise<number> {
  if (command === 'run' && target === undefined) {
    const processConfig = readProcessConfig()
    await run(readConfig(), processConfig, readVersion(), createLog(processConfig.logLevel, process.stdout))
    return 0
  }
  if (command === 'check' && target !== undefined) return check(target)
  if (command === 'version') {
    console.log(readVersion())
    return 0
  }
  console.error(USAGE)
  return EX_USAGE
}

try {
  process.exit(await main(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  console.error(error.message)
  process.exit(EX_CONFIG)
}
