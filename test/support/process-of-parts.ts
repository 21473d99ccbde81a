import { setTimeout as sleep } from 'node:timers/promises'
import { run } from '../../shared/lifecycle.ts'

/**
 * A process for test/local/stops-in-order.test.ts. Its arguments: the time it has to stop in, then how long each of its
 * parts takes for that, in the order of their start, all in milliseconds. At `uncaught` on its input it throws.
 */
const [stopWithinMs = 0, ...parts] = process.argv.slice(2).map(Number)

await run(
  'test',
  () => ({ LOG_LEVEL: 'info', PULSEGATE_PARENT_PIPE: false, stopWithinMs }),
  async (life) => {
    for (const ms of parts) {
      life.stopWith({
        stop: async () => {
          life.log.info({ part: ms }, 'asked to stop')
          await sleep(ms)
        }
      })
    }
    process.stdin.on('data', () => {
      throw Object.assign(new Error('nobody caught this'), { command: { args: ['swordfish'] } })
    })
  }
)
