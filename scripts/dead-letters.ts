import { StartupError } from '../shared/env.ts'
import { createLog } from '../shared/log.ts'
import { type DeadJob, type DeadLetters, openDeadLetters } from '../shared/queue.ts'
import { connectRedis } from '../shared/redis.ts'
import { readQueueConfig } from './config.ts'

const USAGE = `Jobs of heartbeats that could not be written. They are kept until they are written.

Usage: npm run dead-letters -- <command>
  list         the newest 100, newest first, with the reason of each
  show <id>    one of them with all its heartbeats, as JSON
  retry <id>   put it back into the queue
  retry all    put all of them back into the queue`

const LISTED = 100
/** As a shell's own "wrong usage". */
const EXIT_USAGE = 64

/** A bad job may be of any shape, so its heartbeats are counted with care. */
function heartbeatsOf({ data }: DeadJob): string {
  const monitors = (data as { m?: unknown } | null)?.m
  return Array.isArray(monitors) ? String(monitors.length) : '?'
}

async function list(letters: DeadLetters): Promise<number> {
  const count = await letters.count()
  if (count === 0) {
    console.log('There are no dead letters.')
    return 0
  }
  for (const job of (await letters.list(LISTED)).slice(0, LISTED)) {
    console.log(`${job.id}  ${new Date(job.failedAt).toISOString()}  ${heartbeatsOf(job)} heartbeats: ${job.reason}`)
  }
  console.log(count === 1 ? '1 dead letter.' : `${count} dead letters${count > LISTED ? `, ${LISTED} shown` : ''}.`)
  return 0
}

function unknown(id: string): number {
  console.error(`There is no dead letter ${id}.`)
  return 1
}

async function show(letters: DeadLetters, id: string): Promise<number> {
  const job = await letters.find(id)
  if (job === null) return unknown(id)
  console.log(JSON.stringify({ ...job, failedAt: new Date(job.failedAt).toISOString() }, null, 2))
  return 0
}

async function retry(letters: DeadLetters, id: string): Promise<number> {
  if (id === 'all') {
    const retried = await letters.retryAll()
    console.log(retried === 1 ? '1 job is back in the queue.' : `${retried} jobs are back in the queue.`)
    return 0
  }
  if (!(await letters.retry(id))) return unknown(id)
  console.log(`${id} is back in the queue.`)
  return 0
}

function commandOf([name, id, ...rest]: string[]): ((letters: DeadLetters) => Promise<number>) | null {
  if (rest.length > 0) return null
  if (name === 'list' && id === undefined) return list
  if (name === 'show' && id !== undefined) return (letters) => show(letters, id)
  if (name === 'retry' && id !== undefined) return (letters) => retry(letters, id)
  return null
}

async function main(): Promise<number> {
  const command = commandOf(process.argv.slice(2))
  if (command === null) {
    console.error(USAGE)
    return EXIT_USAGE
  }
  const config = readQueueConfig()
  const redis = await connectRedis({ url: config.REDIS_URL, log: createLog('dead-letters', 'fatal'), whenAway: 'fail' })
  const letters = openDeadLetters({ redis, prefix: config.REDIS_PREFIX, shards: config.QUEUE_SHARDS })
  try {
    return await command(letters)
  } finally {
    await letters.stop()
    await redis.stop()
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof StartupError ? error.message : error)
  process.exitCode = 1
}
