import { unwatchFile, watchFile } from 'node:fs'
import { type AgentConfig, ConfigError, type ProcessConfig, readConfig } from './config.ts'
import type { Log } from './log.ts'
import { type Agent, startAgent } from './start-agent.ts'

const LOOK_AT_FILE_MS = 5000
/** npm passes Ctrl-C on although the terminal already sent it: a repeat this soon is the same wish. */
const REPEAT_MS = 1000

function sameSettings(a: AgentConfig, b: AgentConfig): boolean {
  return a.apiKey === b.apiKey && a.ingestUrl === b.ingestUrl && a.ca?.join() === b.ca?.join()
}

/** Follows agent.config.json, and SIGHUP, so that a new key takes effect without a restart. Returns what ends it. */
function followConfig(agent: Agent, start: AgentConfig, log: Log): () => void {
  let current = start
  const reread = () => {
    try {
      const config = readConfig()
      if (sameSettings(config, current)) return
      current = config
      log.info({}, 'The configuration has changed; connecting with it.')
      agent.reconfigure(config)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      log.error({}, `The changed configuration is not used. ${error.message}`)
    }
  }
  watchFile(start.file, { interval: LOOK_AT_FILE_MS, persistent: false }, reread)
  process.on('SIGHUP', reread)
  return () => {
    unwatchFile(start.file, reread)
    process.off('SIGHUP', reread)
  }
}

/** Resolves with the reason to stop: a signal, or the end of the parent's pipe. A second signal ends the process. */
function waitForEnd(parentPipe: boolean): Promise<string> {
  return new Promise((resolve) => {
    let since = 0
    const onReason = (reason: string) => {
      if (since > 0 && performance.now() - since > REPEAT_MS) process.exit(1)
      if (since === 0) since = performance.now()
      resolve(reason)
    }
    process.on('SIGTERM', () => onReason('SIGTERM'))
    process.on('SIGINT', () => onReason('SIGINT'))
    if (!parentPipe) return
    process.stdin.once('end', () => resolve('the parent is gone'))
    process.stdin.once('error', () => resolve('the parent is gone'))
    process.stdin.resume()
  })
}

/** Runs the agent until it is told to stop; resolves after what was left has been sent. @throws ConfigError */
export async function run(
  config: AgentConfig,
  { parentPipe }: ProcessConfig,
  version: string,
  log: Log
): Promise<void> {
  log.info({ version, gateway: config.ingestUrl }, 'The agent starts.')
  const agent = startAgent(config, version, log)
  const unfollow = followConfig(agent, config, log)
  const reason = await waitForEnd(parentPipe)
  log.info({ reason }, 'The agent stops.')
  unfollow()
  await agent.stop()
  log.info({}, 'The agent has stopped.')
}
