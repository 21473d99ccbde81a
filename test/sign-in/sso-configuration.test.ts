import { spawn } from 'node:child_process'
import { t } from 'tap'

const NEEDED = {
  DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none',
  REDIS_URL: 'redis://127.0.0.1:9',
  SECRETS_KEY: Buffer.alloc(32).toString('base64')
}

/** Starts an API that goes no further than its configuration. Returns how it ended and what it said. */
function start(env: Record<string, string>): Promise<{ code: number | null; said: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--import', 'tsx', 'api/main.ts'], { env: { ...NEEDED, ...env } })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (part: string) => {
        said += part
      })
    }
    child.on('close', (code) => resolve({ code, said }))
  })
}

t.test('half a registration, and two origins, stop the start with a sentence each', async (t) => {
  const { code, said } = await start({
    ENTRA_CLIENT_ID: 'hush',
    GOOGLE_CLIENT_SECRET: 'hush',
    API_URL: 'https://api.example.com',
    APP_URL: 'https://app.example.com'
  })
  t.equal(code, 78)
  t.match(said, 'ENTRA_CLIENT_SECRET: must be set when ENTRA_CLIENT_ID is')
  t.match(said, 'GOOGLE_CLIENT_ID: must be set when GOOGLE_CLIENT_SECRET is')
  t.match(said, 'APP_URL: must have the same origin as API_URL')
  t.notMatch(said, 'hush')
})

t.test('a provider without TLS stops the start', async (t) => {
  const { code, said } = await start({ ENTRA_AUTHORITY: 'http://localhost:1', GOOGLE_ISSUER: 'http://localhost:1' })
  t.equal(code, 78)
  t.match(said, 'ENTRA_AUTHORITY: must be an https:// address')
  t.match(said, 'GOOGLE_ISSUER: must be an https:// address')
})
