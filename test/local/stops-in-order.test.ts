import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Test, test } from 'tap'
import { waitFor } from '../support/wait-for.ts'

interface PartsProcess {
  child: ChildProcess
  /** All that it printed, on either stream. */
  output(): string
  /** The parts that were asked to stop, in order. */
  asked(): number[]
  exitCode: Promise<number | null>
}

/** Resolves when it is ready. */
async function startParts(t: Test, stopWithinMs: number, ...parts: number[]): Promise<PartsProcess> {
  const args = ['--import', 'tsx', 'test/support/process-of-parts.ts', ...[stopWithinMs, ...parts].map(String)]
  const child = spawn(process.execPath, args, { stdio: 'pipe' })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (more: string) => {
      text += more
    })
  }
  const exitCode = once(child, 'close').then(([code]) => code as number | null)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exitCode
  })
  await waitFor(() => text.includes('"msg":"ready"'), { timeoutMs: 20_000 })
  return {
    child,
    output: () => text,
    asked: () => [...text.matchAll(/"part":(\d+)/g)].map(([, ms]) => Number(ms)),
    exitCode
  }
}

test('parts that stop in time make an exit code of 0, the last to start first', async (t) => {
  const { child, asked, exitCode } = await startParts(t, 5000, 1, 2, 600)
  child.kill('SIGTERM')
  t.equal(await exitCode, 0)
  t.same(asked(), [600, 2, 1])
})

test('parts that hang share one deadline; all are asked to stop, and the exit code is 1', async (t) => {
  const { child, asked, output, exitCode } = await startParts(t, 1000, 60_000, 60_001, 60_002, 1)
  const began = Date.now()
  child.kill('SIGTERM')
  t.equal(await exitCode, 1)
  t.ok(Date.now() - began < 2000)
  t.same(asked(), [1, 60_002, 60_001, 60_000])
  t.match(output(), 'not everything stopped in time')
})

test('an error that nobody caught is logged without what hangs on it, and stops the process in order', async (t) => {
  const { child, asked, output, exitCode } = await startParts(t, 5000, 1, 2)
  child.stdin?.write('uncaught')
  t.equal(await exitCode, 1)
  t.same(asked(), [2, 1])
  t.match(output(), 'nobody caught this')
  t.notMatch(output(), 'swordfish')
})
