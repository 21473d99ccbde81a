// Runs before every npm script: what it needs is installed and built, whatever state the clone is in.
// Flags: --no-build (leave dist/ alone), --no-redis (the script starts no stores), --tests (what tests need beyond that).
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `Pulsegate needs Node 20.19 or newer, this is ${process.versions.node}: install a newer one from https://nodejs.org.`
  )
  process.exit(1)
}

// Imported late: an older Node would stop at their syntax before it could say what is wrong.
const { ensureChromium } = await import('./chromium-package.mjs')
const { ensureRedisBinary } = await import('./redis-binary.mjs')
const { build, installPackages } = await import('./prepare-steps.mjs')

const flags = new Set(process.argv.slice(2))
const say = (line) => console.log(`pulsegate: ${line}`)

try {
  installPackages(say)
  if (!flags.has('--no-redis') && !process.env.REDIS_URL && !process.env.TEST_REDIS_URL) {
    ensureRedisBinary(process.env.DATA_DIR || './.data', say)
  }
  if (flags.has('--tests')) ensureChromium(say)
  if (!flags.has('--no-build')) build(say)
} catch (error) {
  console.error(`pulsegate: ${error.message}`)
  process.exit(1)
}
