import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { HashAnswer, HashTask } from './hash-thread.ts'
import { createTurns } from './turns.ts'

/** Threads: one a core, but one core is left to everything else. */
const THREADS = Math.max(1, availableParallelism() - 1)
/** Tasks that may wait; beyond that the caller is told to come again. */
const MAX_WAITING = 200
/** Beside this file, by whichever name it runs. */
const SCRIPT = new URL(`./hash-thread${import.meta.url.slice(-3)}`, import.meta.url)

export interface HashThreads {
  /** Resolves to the hash, or to whether the password is the right one. @throws AppError overloaded */
  run(task: HashTask): Promise<string | boolean>
  /** Ends the threads; whoever still waits is refused. */
  stop(): Promise<void>
}

/** Resolves to the thread's answer. A thread that ends instead is of no more use. */
function ask(thread: Worker, task: HashTask): Promise<HashAnswer> {
  return new Promise((resolve, reject) => {
    const ended = (cause: unknown) => reject(new Error('a hashing thread ended', { cause }))
    thread.once('error', ended).once('exit', ended)
    thread.once('message', (answer: HashAnswer) => {
      thread.off('error', ended).off('exit', ended)
      resolve(answer)
    })
    thread.postMessage(task)
  })
}

/**
 * Hashes passwords on threads of a lower priority than the rest of the process, so that the operating system lets everything
 * else go first. Node's own pool of threads cannot do that, and is needed for files, names and JWTs. They are started when
 * there is work for them.
 */
export function createHashThreads(): HashThreads {
  const turn = createTurns(THREADS, MAX_WAITING)
  const all = new Set<Worker>()
  const idle: Worker[] = []
  let stopped = false

  function start(): Worker {
    const thread = new Worker(SCRIPT)
    all.add(thread)
    return thread.once('exit', () => all.delete(thread))
  }

  async function work(task: HashTask): Promise<string | boolean> {
    if (stopped) throw new Error('hashing has stopped')
    const thread = idle.pop() ?? start()
    const answer = await ask(thread, task)
    idle.push(thread)
    if ('fault' in answer) throw new Error(answer.fault)
    return answer.done
  }

  return {
    run: (task) => turn(() => work(task)),
    stop: async () => {
      stopped = true
      await Promise.all([...all].map((thread) => thread.terminate()))
    }
  }
}
