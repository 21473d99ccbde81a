import { relative } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/** A stopped thing may need a turn or two of the event loop to let go of its handles. */
const GRACE_MS = 1000

/**
 * Loaded before every test file (.taprc): a file whose process still lives a second after its last test has left a
 * pool, socket, timer or queue open, and fails by name instead of running into the time limit of the whole file.
 */
if (isMainThread) {
  // In a thread tap would post messages of its own to who started it.
  const { t } = await import('tap')
  t.teardown(() => {
    setTimeout(() => {
      const file = relative(process.cwd(), process.argv[1] ?? '')
      // PipeWrap is the test's own output.
      const open = process.getActiveResourcesInfo().filter((resource) => resource !== 'PipeWrap')
      console.error(`${file}: still open after the last test: ${open.join(', ')}`)
      process.exit(1)
    }, GRACE_MS).unref()
  })
}
