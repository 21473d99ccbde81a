import { run } from '../shared/lifecycle.ts'
import { readConfig } from './config.ts'
import { openWorker } from './open-worker.ts'

await run('worker', readConfig, (lifecycle) => openWorker(lifecycle))
