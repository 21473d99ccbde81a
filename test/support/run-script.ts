import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Ran {
  code: number
  out: string
  err: string
}

/** Runs a script of the project as a process of its own, with this environment alone, to its end. */
export async function runScript(script: string, env: Record<string, string>, ...args: string[]): Promise<Ran> {
  const child = spawn(process.execPath, ['--import', './test/support/typescript.mjs', script, ...args], { env })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  const [code] = await once(child, 'close')
  return { code, out, err }
}
