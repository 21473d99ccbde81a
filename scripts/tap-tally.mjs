// Reads tap's report line by line: counts tests, prints a line per file, and of failures what a person needs.

const RESULT = /^( *)(not )?ok \d+(?: - (.*?))?(?: # (SKIP|TODO|time=([\d.]+)ms).*)?$/
const SUBTEST = /^( *)# Subtest: (.*)$/
/** Lines of the format itself that nobody needs to read. */
const PLUMBING = /^\s*(#.*|\d+\.\.\d+( # .*)?|TAP version \d+)?$/

function createCounts(files, print) {
  const totals = { passed: 0, failed: 0, skipped: 0 }
  const missing = new Set(files)
  let inFile = { tests: 0, failed: 0 }
  return {
    test(failed, directive) {
      const kind = directive === 'SKIP' || directive === 'TODO' ? 'skipped' : failed ? 'failed' : 'passed'
      totals[kind]++
      inFile.tests++
      if (kind === 'failed') inFile.failed++
    },
    file(name, failed, ms) {
      const empty = inFile.tests === 0
      if ((failed && inFile.failed === 0) || (!failed && empty)) totals.failed++
      missing.delete(name)
      const seconds = ms === undefined ? '' : `, ${(Number(ms) / 1000).toFixed(1)} s`
      print(
        `${failed || empty ? 'FAILED' : 'ok    '} ${name} (${inFile.tests} ${inFile.tests === 1 ? 'test' : 'tests'}${seconds})`
      )
      inFile = { tests: 0, failed: 0 }
    },
    end() {
      for (const file of missing) print(`FAILED ${file} (no report)`)
      const failed = totals.failed + missing.size
      // A run without a single result has proved nothing.
      return { ...totals, failed: totals.passed + failed === 0 ? 1 : failed }
    }
  }
}

/**
 * `files` are those expected to report, relative paths; `print` takes what is worth reading. Feed `read` with lines, then
 * `end()` gives `{passed, failed, skipped}`. A test is a `test()` at the top of a file; a file that fails without a failed
 * test, holds none, or never reports counts as one failure more.
 */
export function createTally(files, print) {
  const counts = createCounts(files, print)
  /** Names of the subtests that enclose the current line, by depth. */
  const path = []
  /** By depth: has something failed in the subtest open there? Its own line then tells nothing new. */
  const failedInside = []
  /** The last failure, for the YAML block that may follow it. */
  let failure = null
  /** The line that ends the YAML block being read; null outside of one. */
  let blockEnd = null

  function result([, indent, not, name = '', directive, ms]) {
    const depth = indent.length / 4
    const failed = not !== undefined && directive !== 'TODO'
    const isNews = failed && !failedInside[depth + 1]
    failedInside[depth + 1] = false
    if (failed) failedInside[depth] = true
    if (isNews) print(`\nnot ok: ${[...path.slice(0, depth), name].join(' > ')}`)
    failure = not === undefined ? null : { indent, isNews }
    if (depth === 1) counts.test(failed, directive)
    if (depth === 0) counts.file(name, failed, ms)
  }

  function inBlock(line) {
    if (blockEnd === null) {
      if (failure === null || line !== `${failure.indent}  ---`) return false
      blockEnd = `${failure.indent}  ...`
      return true
    }
    if (line === blockEnd) blockEnd = null
    else if (failure.isNews) print(line.slice(failure.indent.length))
    return true
  }

  function read(line) {
    if (inBlock(line)) return
    const subtest = SUBTEST.exec(line)
    const found = RESULT.exec(line)
    if (subtest !== null) {
      const depth = subtest[1].length / 4
      path[depth] = subtest[2]
      failedInside[depth + 1] = false
    } else if (found !== null) result(found)
    else if (!PLUMBING.test(line)) print(line.trim())
  }

  return { read, end: counts.end }
}
