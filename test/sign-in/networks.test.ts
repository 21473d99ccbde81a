import { t } from 'tap'
import { networkOf, readableAddress } from '../../shared/network.ts'

const networks: Array<[address: string, network: string]> = [
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::FFFF:c000:207', '192.0.2.7'],
  ['0000:0000:0000:0000:0000:ffff:c000:0207', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:0DB8:0001:0002::', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['2001:db8:1::192.0.2.7', '2001:db8:1:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  ['', '']
]
for (const [address, network] of networks) {
  t.test(`"${address}" is of the network "${network}"`, async (t) => {
    t.equal(networkOf(address), network)
  })
}

t.test('an address is told in the words that people use for it', async (t) => {
  t.equal(readableAddress('::ffff:192.0.2.7'), '192.0.2.7')
  t.equal(readableAddress('::FFFF:c000:207'), '192.0.2.7')
  for (const address of ['192.0.2.7', '2001:db8::1', 'fe80::1%eth0', '::1', ''])
    t.equal(readableAddress(address), address)
})
