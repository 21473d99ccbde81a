import { t } from 'tap'
import { apiFor } from '../support/api.ts'
import { createCast } from '../support/cast.ts'
import { openStores } from '../support/ingest.ts'
import { rawRequest } from '../support/raw-http.ts'

const stores = await openStores(t)
const addresses = {
  apiUrl: 'https://api.example.com',
  appUrl: 'https://app.example.com:8443',
  siteUrl: 'https://www.example.com'
}
const api = await apiFor(t, stores, { addresses })

const redirects: Array<[host: string, target: string, location: string]> = [
  ['api.example.com', '/v1/me?a=b', 'https://api.example.com/v1/me?a=b'],
  ['API.example.com:8080', '/', 'https://api.example.com/'],
  ['www.example.com', '/x', 'https://www.example.com/x'],
  ['app.example.com', '/x', 'https://app.example.com:8443/x'],
  ['evil.example.net', '/x', 'https://app.example.com:8443/x'],
  ['api.example.com', '//evil.example.net/x', 'https://api.example.com//evil.example.net/x'],
  ['api.example.com', 'http://evil.example.net/x?y', 'https://api.example.com/x?y']
]
for (const [host, target, location] of redirects) {
  for (const method of ['GET', 'POST']) {
    t.test(`${method} ${target} of ${host} goes to ${location}`, async (t) => {
      const request = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 2\r\n\r\n{}`
      const answer = await rawRequest({ port: api.httpPort }, request)
      t.equal(answer.status, 308)
      t.equal(answer.header('location'), location)
    })
  }
}

t.test('what a proxy took over plain HTTP is redirected, and nothing is recorded', async (t) => {
  const { pushMonitor } = await createCast(api)
  const answer = await api.call('GET', pushMonitor.pushPath, { headers: { 'x-forwarded-proto': 'http' } })
  t.equal(answer.status, 308)
  t.equal(answer.headers.get('location'), `https://app.example.com:8443${pushMonitor.pushPath}`)
  t.equal((await stores.queue.counts()).waiting, 0)
  const secure = await api.call('GET', pushMonitor.pushPath, { headers: { 'x-forwarded-proto': 'https' } })
  t.equal(secure.status, 200)
})
