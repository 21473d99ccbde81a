import { connect } from 'node:net'
import type { AgentMonitor } from '../../shared/protocol/frames.ts'
import { failureMessage } from '../failure-message.ts'
import { beginCheck, type CheckResult, timeoutMessage } from './check.ts'

interface Address {
  readonly host: string
  readonly port: number
}

/** Reads `host:port`, also `[::1]:443`; null when it is neither. */
function readAddress(target: string): Address | null {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/]+)):(\d{1,5})$/.exec(target)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port }
}

function open({ host, port }: Address, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal })
    socket.on('connect', () => {
      resolve()
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

/** A check of `host:port`: up when a TCP connection opens in time. Latency includes the name look-up. */
export async function checkTcp(monitor: AgentMonitor, signal: AbortSignal): Promise<CheckResult> {
  const outcome = beginCheck(monitor)
  const address = readAddress(monitor.target ?? '')
  if (address === null) return outcome.bad('the target is not host:port')
  try {
    await open(address, signal)
    return outcome.good()
  } catch (error) {
    return outcome.bad(signal.aborted ? timeoutMessage(monitor) : failureMessage(error))
  }
}
