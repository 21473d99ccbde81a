import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const hasProc = existsSync('/proc/self/cmdline')

function ps(column: string, pid: number): string | undefined {
  const text = spawnSync('ps', ['-ww', '-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim()
  return text === '' ? undefined : text
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The process ended between two looks at it (ENOENT, ESRCH): the same as not being there.
    return undefined
  }
}

/** The command line of a living process, its arguments split by spaces; undefined when it is gone or only a zombie. */
export function commandLine(pid: number): string | undefined {
  if (!hasProc) return ps('command', pid)
  const text = readProc(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ').trim()
  return text === '' ? undefined : text
}

/**
 * When a living process began, as a text to compare: a later process with the same pid has another one.
 * Undefined when it is gone or only a zombie.
 */
export function startMark(pid: number): string | undefined {
  if (!hasProc) return ps('lstart', pid)
  const stat = readProc(`/proc/${pid}/stat`)
  // The command's name may itself hold spaces and brackets, so fields are counted after the last bracket.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields === undefined || fields[0] === 'Z' || fields[0] === 'X') return undefined
  const boot = readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
  return `${boot}/${fields[19] ?? ''}`
}

/** Sends `signal`; false when the process was already gone. `pid` may be negative: a process group. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Waits until the process with this pid and start mark is gone; false when it still lives after `timeoutMs`. */
export async function waitUntilGone(pid: number, mark: string, timeoutMs: number): Promise<boolean> {
  const end = Date.now() + timeoutMs
  while (startMark(pid) === mark) {
    if (Date.now() > end) return false
    await sleep(20)
  }
  return true
}

/** Stops a process that nobody holds any more: `signal`, after `graceMs` SIGKILL. */
export async function endLeftover(pid: number, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  const mark = startMark(pid)
  if (mark === undefined || !signalProcess(pid, signal)) return
  if (await waitUntilGone(pid, mark, graceMs)) return
  signalProcess(pid, 'SIGKILL')
  await waitUntilGone(pid, mark, 2_000)
}
