import type { ChannelAnswer, DeliveryAnswer } from '../../shared/contract/alerts.ts'
import type { TestApi } from './api.ts'

/** Webhook channels of the person with this JWT, by the API. */
export function openDeliveries(api: TestApi, jwt: string) {
  return {
    createChannel: async (fields: object): Promise<ChannelAnswer & { secret: string }> => {
      const json = { kind: 'webhook', name: 'Chat', ...fields }
      const { status, body } = await api.call('POST', '/v1/alerts/channels', { as: jwt, json })
      if (status !== 201) throw new Error(JSON.stringify(body))
      return body as ChannelAnswer & { secret: string }
    },
    deleteChannel: (id: string) => api.call('DELETE', `/v1/alerts/channels/${id}`, { as: jwt }),
    resend: (channelId: string, id: string) =>
      api.call('POST', `/v1/alerts/channels/${channelId}/deliveries/${id}/resend`, { as: jwt }),
    of: async (channelId: string): Promise<DeliveryAnswer[]> => {
      const { body } = await api.call('GET', `/v1/alerts/channels/${channelId}/deliveries`, { as: jwt })
      return (body as { data: DeliveryAnswer[] }).data
    }
  }
}
