// tsx loads TypeScript in the main thread only; threads that our own code starts have to ask for it.
import { isMainThread } from 'node:worker_threads'
import 'tsx'
import { register } from 'tsx/esm/api'

if (!isMainThread) register()
