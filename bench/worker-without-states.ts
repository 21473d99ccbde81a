import { run } from '../shared/lifecycle.ts'
import { readConfig } from '../worker/config.ts'
import { openWorker } from '../worker/open-worker.ts'

/** The product's worker, but heartbeats of monitors that it has seen before are rows and no more. */
await run('worker', readConfig, (lifecycle) => openWorker(lifecycle, { states: false }))
