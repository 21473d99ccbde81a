import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Running } from './keep-running.ts'
import { signalProcess } from './process-identity.ts'
import type { ProcessSay } from './say.ts'
import { endsWithin, type StoreExit } from './store.ts'

interface ChildOptions {
  script: string
  args?: readonly string[]
  env: NodeJS.ProcessEnv
  say: ProcessSay
}

/**
 * Starts a Node process in a group of its own: the terminal's Ctrl-C must not reach it. Its standard input is a pipe
 * that closes when this process dies, and by which it knows to stop.
 */
export function startChild({ script, args = [], env, say }: ChildOptions): Running {
  const child = spawn(process.execPath, [script, ...args], {
    detached: true,
    env: { ...env, PULSEGATE_PARENT_PIPE: '1' },
    stdio: ['pipe', 'pipe', 'pipe']
  })
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', say.output)
  // The child closed its end on its way out; its exit is what counts.
  child.stdin.on('error', (error) => say.known('info', `pipe to the process: ${error.message}`))
  let asked = false
  const exited = new Promise<StoreExit>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve({ code, signal, asked }))
  })
  const pid = child.pid as number
  const force = () => {
    asked = true
    signalProcess(-pid, 'SIGKILL')
  }
  return {
    pid,
    exited,
    kill: force,
    stop: async (withinMs) => {
      asked = true
      child.kill('SIGTERM')
      if (await endsWithin(exited, withinMs)) return
      say.known('warn', `did not stop within ${withinMs} ms and was killed`)
      force()
      await exited
    }
  }
}
