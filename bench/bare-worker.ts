import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { announceReady, type BareJob, QUEUE, readSettings } from './bare-settings.ts'
import { createRowWriter } from './copy-rows.ts'

/** The other half of the bare pipeline: jobs that wait while a COPY runs are merged into the next one. Nothing else. */

const CONCURRENCY = 16
const ORGANIZATION_KEY = 1
/** Row header, then five columns with their lengths. */
const ROW_BYTES = 2 + 12 + 12 + 12 + 6 + 8
const COPY =
  'copy bare_heartbeats (organization_key, monitor_key, "timestamp", status, latency) from stdin (format binary)'

interface Waiting {
  job: BareJob
  done: () => void
  failed: (error: unknown) => void
}

function encode(jobs: readonly Waiting[]): Buffer {
  const rows = jobs.reduce((sum, { job }) => sum + job.m.length, 0)
  const writer = createRowWriter(rows, ROW_BYTES)
  for (const { job } of jobs) {
    for (let i = 0; i < job.m.length; i++) {
      writer.row(5)
      writer.int8(ORGANIZATION_KEY)
      writer.int8(job.m[i] as number)
      writer.timestamp(job.t[i] as number)
      writer.int2(job.s[i] as number)
      writer.float4(job.l[i] as number)
    }
  }
  return writer.finish()
}

const settings = readSettings()
const client = new Client({ connectionString: settings.databaseUrl })
await client.connect()

let waiting: Waiting[] = []
let inserting = false

function copy(data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = client.query(copyFrom(COPY))
    stream.on('error', reject)
    stream.on('finish', () => resolve())
    stream.end(data)
  })
}

async function insertAll(): Promise<void> {
  inserting = true
  while (waiting.length > 0) {
    const group = waiting
    waiting = []
    try {
      await copy(encode(group))
      for (const { done } of group) done()
    } catch (error) {
      for (const { failed } of group) failed(error)
    }
  }
  inserting = false
}

const worker = new Worker<BareJob>(
  QUEUE,
  (job) =>
    new Promise<void>((done, failed) => {
      waiting.push({ job: job.data, done, failed })
      if (!inserting) void insertAll()
    }),
  {
    connection: new Redis(settings.redisUrl, { maxRetriesPerRequest: null }),
    prefix: settings.prefix,
    concurrency: CONCURRENCY
  }
)
worker.on('error', (error) => process.stderr.write(`bare worker: ${error.message}\n`))
await worker.waitUntilReady()
announceReady(0)
