import { type Test, test } from 'tap'
import { createAddressGuard } from '../../shared/webhooks/address-guard.ts'
import { sendWebhook } from '../../shared/webhooks/send.ts'
import { mintWebhookSecret } from '../../shared/webhooks/signature.ts'
import { receiverFor } from '../support/webhook-receiver.ts'

const HOST = 'hooks.example.com'

/** A receiver on this machine, and a name that leads to one address after the other, at last to the same again and again. */
async function sceneOf(t: Test, allow: string[], addresses: string[]) {
  const receiver = await receiverFor(t)
  const asked: string[] = []
  const guard = createAddressGuard(allow, async (host) => {
    asked.push(host)
    return [{ address: addresses[Math.min(asked.length, addresses.length) - 1] ?? '', family: 4 }]
  })
  const message = { id: 'message', url: `http://${HOST}:${receiver.port}/`, secret: mintWebhookSecret(), body: '{}' }
  return { receiver, asked, guard, send: () => sendWebhook(message, guard, Date.now()) }
}

test('a name that becomes private after it was checked is not connected to', async (t) => {
  const { receiver, guard, send } = await sceneOf(t, [], ['93.184.215.14', '127.0.0.1'])
  await t.resolves(guard.resolve(HOST), 'as when the channel is made')
  t.match(await send(), { delivered: false, statusCode: null, error: /hooks\.example\.com.*must not reach/ })
  t.equal(receiver.received.length, 0)
})

test('the address that was judged is the one that is connected to', async (t) => {
  const { receiver, asked, send } = await sceneOf(t, ['127.0.0.1/32'], ['127.0.0.1', '10.0.0.1'])
  t.match(await send(), { delivered: true, statusCode: 204 })
  t.equal(receiver.received.length, 1)
  t.same(asked, [HOST], 'a name that is asked for twice could mean something else')
  t.match(await send(), { delivered: false, error: /must not reach/ })
})
