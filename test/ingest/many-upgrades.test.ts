import t from 'tap'
import { connectAgent } from '../support/fake-agent.ts'
import { gatewayTenantFor } from '../support/gateway-tenant.ts'

t.test('of many sockets opened at once on a gateway that has just begun, every one stays open', async (t) => {
  const { tenant, monitorId, gateway } = await gatewayTenantFor(t)
  const agents: Awaited<ReturnType<typeof tenant.addAgent>>[] = []
  for (let i = 0; i < 200; i++) agents.push(await tenant.addAgent([monitorId]))
  const welcomed = await Promise.all(
    agents.map(async ({ apiKey }) => {
      const agent = await connectAgent({ url: gateway.url, apiKey })
      const welcome = await agent.hello()
      await agent.close()
      return welcome.type
    })
  )
  t.same(
    welcomed,
    agents.map(() => 'welcome')
  )
})
